#include <nlohmann/json.hpp>

#include "host/report/page.hpp"
#include "host/report/sections.hpp"
#include "host/run/json.hpp"

namespace sfnn {
namespace {

Json json_of(const LayerActivity& layer) {
  return {{"entropy", layer.entropy},
          {"decided", layer.decided},
          {"stuck", layer.stuck},
          {"histogram", layer.histogram}};
}

Json hidden_units_of(const Measured& measured) {
  Json layers = Json::array();
  for (std::size_t l = 0; l < measured.trained.size(); ++l) {
    const LayerActivity& layer = measured.trained[l];
    layers.push_back({{"layer", layer.layer}, {"units", layer.units}, {"trained", json_of(layer)}});
    if (l < measured.start.size()) layers.back()["at_start"] = json_of(measured.start[l]);
  }
  return layers;
}

Json json_of(const ReportRun& run) {
  Json json = {{"name", run.name}, {"path", run.path}, {"network", sfnn::json_of(run.network)}};
  json["step"] = run.state.step;
  json["epoch"] = run.state.epoch;
  json["seconds"] = run.state.seconds;
  if (run.state.best_valid_nll) json[best_key(run.config)] = *run.state.best_valid_nll;
  if (const auto test = test_of(run)) {
    json["test"] = sfnn::json_of(*test);
    json["measured_for_the_page"] = run.measured.has_value();
  }
  if (run.measured) {
    json["data"] = run.measured->data_name;
    json["curve"] = run.measured->test.curve;
    json["hidden_units"] = hidden_units_of(*run.measured);
  }
  if (!run.note.empty()) json["note"] = run.note;
  json["epochs"] = sfnn::json_of(run.metrics);
  json["sessions"] = sfnn::json_of(run.sessions);
  json["config"] = sfnn::json_of(run.config);
  return json;
}

}  // namespace

std::string report_json(const std::vector<ReportRun>& runs, const ReportOrigin& origin) {
  Json json = {{"version", origin.version},
               {"date", origin.date},
               {"device", origin.device},
               {"settings", origin.settings},
               {"runs", Json::array()}};
  for (const ReportRun& run : runs) json["runs"].push_back(json_of(run));
  return to_text(json);
}

}  // namespace sfnn
