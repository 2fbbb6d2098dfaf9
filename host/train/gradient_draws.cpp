#include "host/train/gradient_draws.hpp"

#include <fmt/format.h>

#include "host/base/error.hpp"
#include "kernels/philox.hpp"

namespace sfnn {
namespace {

// The averages behind G1's L_bar forget with 0.99 by default.
constexpr std::int64_t kBaselineWarmup = 100;

std::vector<float> downloaded(Backend& backend, const Matrix& from) {
  std::vector<float> to(from.size());
  download(backend, from.data, to);
  return to;
}

TrainOptions with_weights_held(TrainOptions options) {
  options.epochs = kBaselineWarmup;  // enough for restore() below: an epoch has a step at least
  options.warmup_epochs = 0;
  options.learning_rate = 0;
  options.momentum = 0;
  return options;
}

}  // namespace

DataSet fixed_batch(Backend& backend, const NetworkSpec& spec, const TrainOptions& options,
                    const DataSet& data, std::int64_t count) {
  if (count < 1 || count > data.train.count) {
    throw ConfigError(
        fmt::format("a batch of {}: there are {} training examples", count, data.train.count));
  }
  StagedData staged(backend, data.train, data.x_mean, /*height=*/count);
  Pass pass(backend, spec, {.backward = false}, count, /*M=*/1);
  const Buffer order(backend, data.train.count * sizeof(std::int32_t));
  auto* rows = reinterpret_cast<std::int32_t*>(order.data());
  backend.shuffle({{options.seed, /*step=*/0, kSitePermutation}, data.train.count, rows});
  backend.set_clock({.step = 0});
  staged.reorder(rows);
  staged.begin_step(0);
  staged.gather(backend, {.N = count},
                {.binarize = data.binarize_train,
                 .noise = float(options.noise),
                 .data_seed = options.data_seed,
                 .seed = options.seed},
                pass);
  staged.end_step();
  const Matrix x = pass.x(count), y = pass.y(count);
  DataSet batch;
  batch.name = data.name;
  batch.train = {.count = count,
                 .x = {.values = downloaded(backend, x), .cols = x.cols},
                 .y = {.values = downloaded(backend, y), .cols = y.cols}};
  batch.D_in = data.D_in;
  batch.D_out = data.D_out;
  batch.output = data.output;
  return batch;
}

GradientDraws::GradientDraws(Backend& backend, const NetworkSpec& spec, TrainOptions options,
                             const DataSet& data, std::span<const float> params)
    : trainer_(backend, spec, with_weights_held(options), data) {
  TrainerState state = trainer_.state();
  state.params.assign(params.begin(), params.end());
  const bool warm = row_of(options.estimator).has_moving_state();
  if (!warm) state.step = kBaselineWarmup;  // the others begin where G1 has got to
  trainer_.restore(state);
  while (trainer_.step() < kBaselineWarmup) trainer_.train_step();
}

std::vector<float> GradientDraws::next() {
  trainer_.train_step();
  return trainer_.state().velocity;
}

}  // namespace sfnn
