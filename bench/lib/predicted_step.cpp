#include "bench/lib/predicted_step.hpp"

#include <algorithm>

namespace sfnn::bench {
namespace {

DataSet blank_data(const NetworkSpec& spec, std::int64_t count) {
  const std::int64_t targets = spec.target_width();
  DataSet data{.D_in = spec.D_in, .D_out = spec.D_out, .output = spec.output};
  data.train.count = count;
  data.train.x = {std::vector<std::uint8_t>(count * spec.D_in), spec.D_in, 1 / 255.0f};
  data.train.y = {std::vector<std::uint8_t>(count * targets), targets, 1 / 255.0f};
  return data;
}

}  // namespace

double seconds(const Launch& launch, const Gpu& gpu) {
  return std::max(launch.bytes / gpu.bytes_per_second, launch.operations / gpu.rate(launch.unit));
}

double seconds(const std::vector<Launch>& launches, const Gpu& gpu) {
  double sum = 0;
  for (const Launch& launch : launches) sum += seconds(launch, gpu);
  return sum;
}

std::vector<Launch> launches_of_step(const NetworkSpec& spec, TrainOptions options, Math math,
                                     double keep) {
  options.epochs = 1;
  if (keep >= 1) options.drop_below = 0;
  const DataSet data = blank_data(spec, 2 * options.batch);
  CountingBackend backend(math, keep);
  Trainer trainer(backend, spec, options, data);
  trainer.train_step();  // also begins the epoch
  backend.clear();
  trainer.train_step();
  return backend.launches();
}

}  // namespace sfnn::bench
