#include "host/run/json.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

namespace sfnn {
namespace {

// A figure that does not exist for this network or this number of values has no key.
void put(Json& json, const char* key, const std::optional<double>& value) {
  if (value) json[key] = *value;
}

template <class Record>
Json list_of(const std::vector<Record>& records) {
  Json list = Json::array();
  for (const Record& record : records) list.push_back(Json::parse(to_text(record)));
  return list;
}

// A square matrix as a list of its rows.
Json rows_of(const std::vector<double>& matrix) {
  Json rows = Json::array();
  const auto size = std::ptrdiff_t(std::lround(std::sqrt(double(matrix.size()))));
  for (auto row = matrix.begin(); row != matrix.end(); row += size)
    rows.push_back(std::vector<double>(row, row + size));
  return rows;
}

}  // namespace

Json json_of(const Config& config) { return Json::parse(to_json(config)); }

Json json_of(const Evaluation& test) {
  Json json = {{"examples", test.examples}, {"particles", test.particles}, {"draws", test.draws}};
  json["nll"] = test.nll;
  put(json, "nll_se", test.standard_error.nll);
  put(json, "nll_draw_sd", test.draw_sd.nll);
  put(json, "error", test.error);
  put(json, "error_se", test.standard_error.error);
  put(json, "error_draw_sd", test.draw_sd.error);
  if (!test.confusion.empty()) json["confusion"] = rows_of(test.confusion);
  put(json, "criterion_sse", test.criterion_sse);
  put(json, "criterion_sse_se", test.standard_error.criterion_sse);
  put(json, "criterion_sse_draw_sd", test.draw_sd.criterion_sse);
  put(json, "mean_sse", test.mean_sse);
  put(json, "mean_sse_se", test.standard_error.mean_sse);
  put(json, "mean_sse_draw_sd", test.draw_sd.mean_sse);
  put(json, "sigma", test.sigma);
  json["effective_particles"] = test.effective_particles;
  if (!test.proposal) return json;
  json["nll_proposal"] = test.proposal->nll;
  put(json, "nll_proposal_se", test.proposal->nll_se);
  put(json, "nll_proposal_draw_sd", test.proposal->nll_draw_sd);
  put(json, "effective_particles_proposal", test.proposal->effective_particles);
  return json;
}

Json json_of(const NetworkSpec& spec) {
  const ParamLayout layout(spec);
  Json tensors = Json::array();
  for (const ParamSlot& slot : layout.slots())
    tensors.push_back({{"name", slot.name}, {"rows", slot.rows}, {"cols", slot.cols}});
  return {{"text", to_string(spec)},
          {"parameters", layout.parameter_count()},
          {"tensors", std::move(tensors)}};
}

const char* best_key(const Config& config) {
  return config.selects_by_proposal() ? "best_valid_nll_proposal" : "best_valid_nll";
}

Json json_of_state(const Checkpoint& checkpoint) {
  const TrainState& state = checkpoint.state;
  Json json = {{"step", state.step},
               {"epoch", state.epoch},
               {"seconds", state.seconds},
               {"tile", checkpoint.tiling.tile},
               {"parts", checkpoint.tiling.parts}};
  if (state.best_valid_nll) {
    json[best_key(checkpoint.config)] = *state.best_valid_nll;
    json["best_epoch"] = state.best_epoch;
  }
  return json;
}

Json json_of(const std::vector<EpochRecord>& epochs) { return list_of(epochs); }
Json json_of(const std::vector<SessionRecord>& sessions) { return list_of(sessions); }

std::string to_text(const Json& json) { return json.dump(2) + '\n'; }

}  // namespace sfnn
