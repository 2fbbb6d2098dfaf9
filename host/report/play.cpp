#include "host/report/play.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "host/base/error.hpp"
#include "host/report/chart.hpp"
#include "host/report/html.hpp"
#include "host/report/play_parts.hpp"
#include "host/run/json.hpp"
#include "host/run/session.hpp"
#include "host/train/activity.hpp"
#include "kernels/philox.hpp"

namespace sfnn {
namespace {

constexpr std::int64_t kMostSliders = 64;
constexpr std::int64_t kMostParameters = 32 << 20;  // a page of 180 MB
constexpr std::int64_t kMostExamples = 20, kMostExampleNumbers = 1 << 18;
constexpr std::int64_t kExamplesLookedAt = 1000;  // for the range of each column

std::string base64_of(std::span<const float> numbers) {
  return base64({reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()});
}

const char* name_of(Activation activation) {
  switch (activation) {
    case Activation::sigmoid:
      return "sigmoid";
    case Activation::tanh:
      return "tanh";
    case Activation::relu:
      return "relu";
  }
  return "";
}

// --- the network -------------------------------------------------------------------------------

Json layers_of(const NetworkSpec& spec) {
  Json layers = Json::array();
  for (const LayerSpec& layer : spec.hidden)
    layers.push_back({{"n_s", layer.n_s},
                      {"n_d", layer.n_d},
                      {"fixed", layer.fixed},
                      {"activation", name_of(layer.activation)}});
  return layers;
}

Json tensors_of(const ParamLayout& layout) {
  Json tensors = Json::array();
  for (const ParamSlot& slot : layout.slots())
    tensors.push_back(
        {{"name", slot.name}, {"offset", slot.offset}, {"rows", slot.rows}, {"cols", slot.cols}});
  return tensors;
}

Json units_of(const Units& units) {
  Json json = Json::object();
  Units::visit(units, [&](const char* name, const std::vector<float>& array, bool) {
    if (!array.empty()) json[name] = base64_of(array);
  });
  return json;
}

// --- the data ----------------------------------------------------------------------------------

struct Range {
  float low = 0, high = 0;
  bool whole = true;  // whole numbers only
};

std::vector<Range> ranges_of(const Columns& columns, std::int64_t count) {
  std::vector<Range> ranges(columns.cols);
  for (std::int64_t n = 0; n < std::min(count, kExamplesLookedAt); ++n) {
    const std::vector<float> row = columns.row(n);
    for (std::int64_t i = 0; i < columns.cols; ++i) {
      Range& range = ranges[i];
      range.low = n == 0 ? row[i] : std::min(range.low, row[i]);
      range.high = n == 0 ? row[i] : std::max(range.high, row[i]);
      range.whole = range.whole && row[i] == std::floor(row[i]);
    }
  }
  return ranges;
}

// A picture has one range for all of its pixels, which are seldom all used; other numbers have
// their own.
Json json_of(const ImageShape& image, const std::vector<Range>& ranges) {
  Json json = {{"height", image.height}, {"width", image.width}, {"channels", image.channels}};
  if (image.height > 0) {
    Range all{.low = 0, .high = 1};
    for (const Range& range : ranges) {
      all.low = std::min(all.low, range.low);
      all.high = std::max(all.high, range.high);
    }
    json["low"] = all.low;
    json["high"] = all.high;
    return json;
  }
  json["low"] = json["high"] = json["whole"] = Json::array();
  for (const Range& range : ranges) {
    json["low"].push_back(range.low);
    json["high"].push_back(range.high);
    json["whole"].push_back(range.whole);
  }
  return json;
}

std::string examples_of(const DataSet& data) {
  if (data.D_in == 0) return "";
  const std::int64_t count = std::min(
      {data.test.count, kMostExamples, std::max<std::int64_t>(1, kMostExampleNumbers / data.D_in)});
  std::vector<float> numbers;
  for (std::int64_t n = 0; n < count; ++n) {
    const std::vector<float> row = data.test.x.row(n);
    numbers.insert(numbers.end(), row.begin(), row.end());
  }
  return base64_of(numbers);
}

void require_playable(const NetworkSpec& spec, const DataSet& data) {
  if (data.x_image.height == 0 && spec.D_in > kMostSliders) {
    throw ConfigError(fmt::format(
        "{}: an input is {} numbers without a picture's shape, too many for sliders (at most {}); "
        "inputs of shape [n, height, width] can be drawn",
        data.name, spec.D_in, kMostSliders));
  }
  const std::int64_t count = ParamLayout(spec).parameter_count();
  if (count > kMostParameters) {
    throw ConfigError(fmt::format("{} has {} parameters: a page holds at most {}", to_string(spec),
                                  count, kMostParameters));
  }
}

// --- both --------------------------------------------------------------------------------------

Json json_of(const LoadedNetwork& loaded) {
  const Model& model = loaded.model();
  const DataSet& data = loaded.data();
  const NetworkSpec& spec = model.spec();
  const std::uint64_t seed = loaded.config().train.seed;
  Json json = {{"D_in", spec.D_in},
               {"hidden", layers_of(spec)},
               {"D_out", spec.D_out},
               {"output", to_string(spec.output)},
               {"sigma", spec.sigma},
               {"log_sigma_floor", kLogSigmaFloor},
               {"sigma_shift", kSigmaShift},
               {"max_log_rate", kMaxLogRate},
               {"particles", loaded.config().eval.particles},
               {"seed", {std::uint32_t(seed), std::uint32_t(seed >> 32)}},
               {"step", kEvaluationStep},
               {"first_site", model.first_site()},
               {"output_site", std::uint32_t(kSiteOutputSample)},
               {"decided", kDecided}};
  json["tensors"] = tensors_of(model.layout());
  json["units"] = units_of(model.units());
  json["x"] = json_of(data.x_image, ranges_of(data.test.x, data.D_in > 0 ? data.test.count : 0));
  json["y"] = json_of(data.y_image, ranges_of(data.test.y, data.test.count));
  json["y"]["below_x"] = data.y_below_x;
  json["examples"] = examples_of(data);
  json["params"] = base64_of(model.download_params());
  return json;
}

// Inside <script>, where text ends at the first "</".
std::string for_script(const Json& json) {
  std::string text = json.dump();
  for (std::size_t at = 0; (at = text.find('<', at)) != text.npos;) text.replace(at, 1, "\\u003c");
  return text;
}

}  // namespace

std::string play_page(const std::string& name, const LoadedNetwork& loaded) {
  require_playable(loaded.model().spec(), loaded.data());
  return fmt::format(fmt::runtime(kPlayPage), fmt::arg("name", escape(name)),
                     fmt::arg("network", escape(to_string(loaded.model().spec()))),
                     fmt::arg("data", escape(loaded.data().name)),
                     fmt::arg("version", program_version()), fmt::arg("decided", kDecided),
                     fmt::arg("colors", color_scheme()), fmt::arg("style", kPlayStyle),
                     fmt::arg("model", for_script(json_of(loaded))),
                     fmt::arg("script", fmt::format("{}{}", kPlayNetworkScript, kPlayPageScript)));
}

}  // namespace sfnn
