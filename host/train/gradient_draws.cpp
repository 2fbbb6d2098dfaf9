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

TrainPlan plan_draws(const Model& model, TrainOptions options, const DataSet& data) {
  options.warmup_epochs = 0;  // whatever the epochs are, this fits
  options.warmup_steps.reset();
  options.proposal.on = false;
  return plan_training(model.backend(), model.spec(), options, data);
}

}  // namespace

DataSet fixed_batch(const Model& model, const TrainOptions& options, const DataSet& data,
                    std::int64_t count) {
  Backend& backend = model.backend();
  if (count < 1 || count > data.train.count) {
    throw ConfigError(
        fmt::format("a batch of {}: there are {} training examples", count, data.train.count));
  }
  StagedData staged(backend, data.train, /*height=*/count);
  Pass pass(backend, model.spec(), {.backward = false}, count, /*M=*/1);
  const Buffer order(backend, data.train.count * sizeof(std::int32_t));
  auto* rows = reinterpret_cast<std::int32_t*>(order.data());
  backend.shuffle({{options.seed, /*step=*/0, kSitePermutation}, data.train.count, rows});
  backend.set_clock({.step = 0});
  staged.reorder(rows);
  staged.begin_step(0);
  staged.gather({.N = count},
                {.binarize = data.binarize_train,
                 .noise = float(options.noise),
                 .data_seed = options.data_seed,
                 .seed = options.seed},
                model.gather_units(), pass);
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

GradientDraws::GradientDraws(const Model& model, const TrainOptions& options, const DataSet& data)
    : networks_(model, row_of(options.estimator)),
      batches_(model.backend(), data.train, options.batch, options.seed),
      gradient_(networks_, options, plan_draws(model, options, data), data) {
  // The other estimators begin at the step that G1 has reached.
  if (!row_of(options.estimator).has_moving_state()) step_ = kBaselineWarmup;
  while (step_ < kBaselineWarmup) draw();
}

void GradientDraws::draw() {
  batches_.run_step(step_, /*rates=*/{}, [&](std::int64_t N) {
    gradient_.enqueue(batches_, N);
    gradient_.move_baseline(gradient_.parts(N), N);
  });
  ++step_;
}

std::vector<float> GradientDraws::next() {
  draw();
  const std::int64_t N = batches_.examples_of(step_ - 1);
  std::vector<float> gradient = gradient_.download_sum(gradient_.parts(N));
  gradient.resize(networks_.P().model.layout().size);
  const float scale = 1 / float(N);
  for (float& value : gradient) value *= scale;
  return gradient;
}

}  // namespace sfnn
