#include "host/sfnn.hpp"

#include <fmt/format.h>

#include <cmath>

#include "host/data/targets.hpp"

namespace sfnn {
namespace {

Examples copy(const DataShape& shape, const ExampleSpans& spans) {
  const std::int64_t y_cols = target_width(shape.output, shape.D_out);
  const auto x_size = std::int64_t(spans.x.size()), y_size = std::int64_t(spans.y.size());
  const std::int64_t count = y_size / y_cols;
  if (y_size % y_cols != 0 || x_size != count * shape.D_in) {
    throw DataError(
        fmt::format("{} input numbers and {} target numbers are not as many examples of {} and {}",
                    x_size, y_size, shape.D_in, y_cols));
  }
  for (std::size_t i = 0; i < spans.x.size(); ++i) {
    if (!std::isfinite(spans.x[i]))
      throw DataError(fmt::format("input number {} is not finite", i));
  }
  for (std::size_t i = 0; i < spans.y.size(); ++i) {
    if (is_target(shape.output, shape.D_out, spans.y[i])) continue;
    throw DataError(fmt::format("target number {} is {}, and {} is needed", i, spans.y[i],
                                wanted_target(shape.output, shape.D_out)));
  }
  return {count,
          {std::vector<float>(spans.x.begin(), spans.x.end()), shape.D_in, 1},
          {std::vector<float>(spans.y.begin(), spans.y.end()), y_cols, 1}};
}

}  // namespace

DataSet make_data_set(const DataShape& shape, const ExampleSpans& train, const ExampleSpans& test,
                      const ExampleSpans& valid) {
  if (shape.D_in < 0 || shape.D_out < 1)
    throw ConfigError(
        fmt::format("inputs of {} and targets of {} numbers cannot be", shape.D_in, shape.D_out));
  DataSet data;
  data.name = "own data";
  data.D_in = shape.D_in;
  data.D_out = shape.D_out;
  data.output = shape.output;
  data.train = copy(shape, train);
  data.valid = copy(shape, valid);
  data.test = copy(shape, test);
  if (data.train.count == 0) throw DataError("there is no example to train on");
  return data;
}

NetworkSpec network_for(const DataSet& data, const std::vector<std::string>& hidden) {
  NetworkSpec spec{.D_in = data.D_in, .D_out = data.D_out, .output = data.output};
  for (const std::string& layer : hidden) spec.hidden.push_back(parse_layer(layer));
  spec.validate();
  return spec;
}

Checkpoint checkpoint_of(Trainer& trainer, const TrainOptions& options, const DataSet& data) {
  Config config;
  config.train = options;
  config.data.set = "files";
  config.net.hidden = trainer.model().spec().hidden;
  TrainState state = trainer.state();
  state.epoch = state.step / trainer.steps_per_epoch();
  return {.state = std::move(state),
          .x_mean = data.x_mean,
          .x_bytes = input_bytes(config.data.set, data),
          .config = config,
          .tiling = trainer.tiling()};
}

}  // namespace sfnn
