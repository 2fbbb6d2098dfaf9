#include "host/train/trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/backend/error.hpp"
#include "kernels/philox.hpp"

namespace sfnn {
namespace {

void require(bool holds, const std::string& sentence) {
  if (!holds) throw ConfigError(sentence);
}

void upload(Backend& backend, std::span<const float> from, const Buffer& to) {
  backend.upload(std::as_bytes(from), to.data());
}

std::vector<float> download(Backend& backend, const Buffer& from) {
  std::vector<float> to(from.bytes() / sizeof(float));
  backend.download(from.data(), std::as_writable_bytes(std::span(to)));
  return to;
}

PassOptions pass_options(const TrainOptions& options, std::int64_t M) {
  return {.seed = options.seed,
          .estimator = options.estimator,
          .c = float(options.c_or_default(M)),
          .drop_below = float(options.drop_below_or_default(M))};
}

}  // namespace

Trainer::Trainer(Backend& backend, const NetworkSpec& spec, const TrainOptions& options,
                 const DataSet& data)
    : backend_(backend),
      spec_(spec),
      options_(options),
      part_layout_(spec, options.estimator),
      data_(backend, data.train, data.x_mean),
      randomness_{.binarize = data.binarize_train,
                  .noise = float(options.noise),
                  .data_seed = options.data_seed,
                  .seed = options.seed},
      M_(spec.samples() ? options.particles : 1),
      steps_per_epoch_((data_.count() + options.batch - 1) / options.batch) {
  validate(options, spec);
  require(data_.count() > 0, "there are no training examples");
  require(data.D_in == spec.D_in && data.D_out == spec.D_out,
          "the data set does not fit the network");
  schedule_ = {
      .max_rate = options.learning_rate,
      .warmup_steps = std::llround(options.warmup_epochs_or_default() * double(steps_per_epoch_)),
      .total_steps = options.epochs * steps_per_epoch_};
  require(schedule_.total_steps < kEvaluationStep, "train.epochs: more than 2^30 steps");

  const std::int64_t batch = std::min(options.batch, data_.count());
  tiling_ = backend.choose_tiling({.batch = batch,
                                   .M = M_,
                                   .row_floats = Pass::row_floats(spec),
                                   .parameters = part_layout_.gradient_size});
  if (options.tiling.tile > 0) tiling_.tile = options.tiling.tile;
  if (options.tiling.parts > 0) tiling_.parts = options.tiling.parts;
  tiling_.tile = std::min(tiling_.tile, batch);
  tiling_.parts = std::min(tiling_.parts, (batch + tiling_.tile - 1) / tiling_.tile);

  const int lanes = int(std::min<std::int64_t>(backend.lanes(), tiling_.parts));
  for (int lane = 0; lane < lanes; ++lane) {
    passes_.push_back(
        std::make_unique<Pass>(backend, spec, pass_options(options, M_), tiling_.tile, M_));
  }
  params_ = Buffer(backend, part_layout_.gradient_size * sizeof(float));
  velocity_ = Buffer(backend, part_layout_.gradient_size * sizeof(float));
  baseline_ = Buffer(backend, part_layout_.baseline_size * sizeof(float));
  parts_ = Buffer(backend, tiling_.parts * part_layout_.size() * sizeof(float));
  C_hat_ = Buffer(backend, batch * sizeof(float));
  ess_ = Buffer(backend, batch * sizeof(float));
  sums_ = Buffer(backend, 2 * sizeof(double));
  order_ = Buffer(backend, data_.count() * sizeof(std::int32_t));
  runner_ = backend.make_step_runner();
  set_params(initial_params(spec, options.seed, options.init_scale));
}

void Trainer::set_params(std::span<const float> params) {
  if (std::int64_t(params.size()) != part_layout_.gradient_size) {
    throw DataError("the weights do not fit the network");
  }
  upload(backend_, params, params_);
}

void Trainer::begin_epoch() {
  const auto epoch = std::uint32_t(step_ / steps_per_epoch_);
  backend_.shuffle({options_.seed, epoch, kSitePermutation}, data_.count(),
                   reinterpret_cast<std::int32_t*>(order_.data()));
}

void Trainer::train_step() {
  const std::int64_t in_epoch = step_ % steps_per_epoch_;
  if (in_epoch == 0) {
    begin_epoch();
    backend_.fill_zero(sums_.data(), sums_.bytes());
  }
  const std::int64_t first = in_epoch * options_.batch;
  const std::int64_t N = std::min(options_.batch, data_.count() - first);
  backend_.set_clock({.step = std::uint32_t(step_),
                      .learning_rate = float(schedule_.rate(step_)),
                      .first = first});

  const Range range(backend_, "step");
  runner_->run(N, [&] { enqueue_step(N); });
  ++step_;
}

// All ops of a step of N examples. Nothing here may depend on the step but through the clock.
void Trainer::enqueue_step(std::int64_t N) {
  const std::int64_t tiles = (N + tiling_.tile - 1) / tiling_.tile;
  const std::int64_t parts = std::min(tiling_.parts, tiles);
  const std::int64_t stride = part_layout_.size();
  backend_.for_each(parts, [&](std::int64_t p, int lane) {
    float* part = parts_.floats() + p * stride;
    backend_.fill_zero(reinterpret_cast<std::byte*>(part), stride * sizeof(float));
    for (std::int64_t t = tiles * p / parts; t < tiles * (p + 1) / parts; ++t) {
      const std::int64_t begin = t * tiling_.tile;
      train_tile({.first = begin, .N = std::min(tiling_.tile, N - begin), .M = M_}, lane, part);
    }
  });

  const Range range(backend_, "update");
  backend_.accumulate_metrics(N, C_hat_.floats(), ess_.floats(),
                              reinterpret_cast<double*>(sums_.data()));
  backend_.update({.params = params_.floats(),
                   .velocity = velocity_.floats(),
                   .parts = parts_.floats(),
                   .size = part_layout_.gradient_size,
                   .part_count = parts,
                   .part_stride = stride,
                   .scale = 1 / float(N),
                   .momentum = float(options_.momentum)});
  if (part_layout_.baseline_size > 0) {
    backend_.update_baseline({.averages = baseline_.floats(),
                              .parts = parts_.floats() + part_layout_.gradient_size,
                              .size = part_layout_.baseline_size,
                              .part_count = parts,
                              .part_stride = stride,
                              .scale = 1 / float(N * M_),
                              .decay = float(options_.baseline_decay)});
  }
}

void Trainer::train_tile(const Tile& tile, int lane, float* part) {
  Pass& pass = *passes_[lane];
  float* C_hat = C_hat_.floats() + tile.first;
  data_.gather(backend_, tile, reinterpret_cast<const std::int32_t*>(order_.data()), randomness_,
               pass);
  pass.forward(tile, params_.floats());
  pass.log_prob(params_.floats());
  pass.weigh(C_hat, ess_.floats() + tile.first);
  pass.backward(params_.floats(), baseline_.floats(), C_hat, part);
}

Trainer::EpochMeans Trainer::epoch_means() {
  if (step_ == 0) return {};
  double sums[2];
  backend_.download(sums_.data(), std::as_writable_bytes(std::span(sums)));
  const std::int64_t steps = (step_ - 1) % steps_per_epoch_ + 1;
  const std::int64_t examples = std::min(steps * options_.batch, data_.count());
  return {sums[0] / double(examples), sums[1] / double(examples), examples};
}

TrainerState Trainer::state() {
  double sums[2];
  backend_.download(sums_.data(), std::as_writable_bytes(std::span(sums)));
  return {step_,
          download(backend_, params_),
          download(backend_, velocity_),
          download(backend_, baseline_),
          sums[0],
          sums[1]};
}

void Trainer::restore(const TrainerState& state) {
  if (std::int64_t(state.velocity.size()) != part_layout_.gradient_size ||
      std::int64_t(state.baseline.size()) != part_layout_.baseline_size || state.step < 0 ||
      state.step > total_steps()) {
    throw DataError("the saved state does not fit this run");
  }
  set_params(state.params);
  upload(backend_, state.velocity, velocity_);
  upload(backend_, state.baseline, baseline_);
  const double sums[2] = {state.C_hat_sum, state.ess_sum};
  backend_.upload(std::as_bytes(std::span(sums)), sums_.data());
  step_ = state.step;
  if (step_ % steps_per_epoch_ != 0) begin_epoch();
}

std::size_t Trainer::workspace_bytes() const {
  std::size_t bytes = parts_.bytes() + params_.bytes() + velocity_.bytes() + baseline_.bytes();
  for (const auto& pass : passes_) bytes += pass->workspace_bytes();
  return bytes;
}

}  // namespace sfnn
