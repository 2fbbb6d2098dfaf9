#include "host/train/trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/base/error.hpp"
#include "host/train/finite.hpp"
#include "kernels/philox.hpp"

namespace sfnn {
namespace {

void upload(Backend& backend, std::span<const float> from, const Buffer& to) {
  backend.upload(std::as_bytes(from), to.data());
}

std::vector<float> downloaded(Backend& backend, const Buffer& from) {
  std::vector<float> to(from.bytes() / sizeof(float));
  download(backend, from.floats(), to);
  return to;
}

}  // namespace

Trainer::Trainer(Backend& backend, const NetworkSpec& spec, const TrainOptions& options,
                 const DataSet& data)
    : backend_(backend),
      options_(options),
      plan_(plan_training(backend, spec, options, data)),
      param_layout_(spec),
      part_layout_(spec, options.estimator),
      data_(backend, data.train, data.x_mean, plan_.batch),
      randomness_{.binarize = data.binarize_train,
                  .noise = float(options.noise),
                  .data_seed = options.data_seed,
                  .seed = options.seed} {
  const Tiling& tiling = plan_.tiling;
  for (int lane = 0; lane < plan_.lanes; ++lane)
    passes_.push_back(std::make_unique<Pass>(backend, spec, plan_.pass, tiling.tile, plan_.M));
  params_ = Buffer(backend, part_layout_.gradient_size * sizeof(float));
  velocity_ = Buffer(backend, part_layout_.gradient_size * sizeof(float));
  baseline_ = Buffer(backend, part_layout_.baseline_size * sizeof(float));
  parts_ = Buffer(backend, tiling.parts * part_layout_.size() * sizeof(float));
  C_hat_ = Buffer(backend, plan_.batch * sizeof(float));
  ess_ = Buffer(backend, plan_.batch * sizeof(float));
  sums_ = Buffer(backend, 2 * sizeof(double));
  order_ = Buffer(backend, data_.count() * sizeof(std::int32_t));
  betas_.emplace(backend, spec, plan_.pass);
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
  const auto epoch = std::uint32_t(step_ / plan_.steps_per_epoch);
  auto* order = reinterpret_cast<std::int32_t*>(order_.data());
  backend_.shuffle({{options_.seed, epoch, kSitePermutation}, data_.count(), order});
  data_.reorder(order);
}

void Trainer::train_step() {
  const std::int64_t in_epoch = step_ % plan_.steps_per_epoch;
  if (in_epoch == 0) {
    begin_epoch();
    backend_.fill_zero(sums_.data(), sums_.bytes());
  }
  const std::int64_t first = in_epoch * options_.batch;
  const std::int64_t N = std::min(options_.batch, data_.count() - first);
  backend_.set_clock({.step = std::uint32_t(step_),
                      .learning_rate = float(plan_.schedule.rate(step_)),
                      .first = first});

  const Range range(backend_, "step");
  const int memory = data_.begin_step(in_epoch);
  // A recording for each batch size and window slot.
  runner_->run(2 * N + memory, [&] { enqueue_step(N); });
  data_.end_step();
  ++step_;
}

// All ops of a step of N examples. Nothing here may depend on the step but through the clock.
void Trainer::enqueue_step(std::int64_t N) {
  const std::int64_t tiles = (N + plan_.tiling.tile - 1) / plan_.tiling.tile;
  const std::int64_t parts = std::min(plan_.tiling.parts, tiles);
  const std::int64_t stride = part_layout_.size();
  betas_->refresh(baseline_.floats());
  backend_.for_each(parts, [&](std::int64_t p, int lane) {
    float* part = parts_.floats() + p * stride;
    backend_.fill_zero(reinterpret_cast<std::byte*>(part), stride * sizeof(float));
    for (std::int64_t t = tiles * p / parts; t < tiles * (p + 1) / parts; ++t) {
      const std::int64_t begin = t * plan_.tiling.tile;
      train_tile({.first = begin, .N = std::min(plan_.tiling.tile, N - begin), .M = plan_.M}, lane,
                 part);
    }
  });

  const Range range(backend_, "update");
  backend_.accumulate_metrics(
      {N, C_hat_.floats(), ess_.floats(), reinterpret_cast<double*>(sums_.data())});
  const auto update = [&](std::int64_t begin, std::int64_t end, double rate) {
    backend_.update({.params = params_.floats() + begin,
                     .velocity = velocity_.floats() + begin,
                     .parts = parts_.floats() + begin,
                     .size = end - begin,
                     .part_count = parts,
                     .part_stride = stride,
                     .scale = float(rate) / float(N),
                     .momentum = float(options_.momentum)});
  };
  // The hidden layers' slots lie before the output's; at one rate all are one update.
  const std::int64_t border = options_.hidden_rate == 1 ? 0 : param_layout_.V.offset;
  if (border > 0) update(0, border, options_.hidden_rate);
  update(border, part_layout_.gradient_size, 1);
  if (part_layout_.baseline_size > 0) {
    backend_.update_baseline({.averages = baseline_.floats(),
                              .parts = parts_.floats() + part_layout_.gradient_size,
                              .size = part_layout_.baseline_size,
                              .part_count = parts,
                              .part_stride = stride,
                              .scale = 1 / float(N * plan_.M),
                              .decay = float(options_.baseline_decay)});
  }
}

void Trainer::train_tile(const Tile& tile, int lane, float* part) {
  Pass& pass = *passes_[lane];
  float* C_hat = C_hat_.floats() + tile.first;
  data_.gather(backend_, tile, randomness_, pass);
  pass.forward(tile, params_.floats());
  {
    const Range range(backend_, "weigh");
    pass.log_prob(params_.floats());
    pass.weigh(C_hat, ess_.floats() + tile.first);
  }
  pass.backward(params_.floats(), betas_->data(), C_hat, part);
}

Trainer::EpochMeans Trainer::epoch_means() {
  if (step_ == 0) return {};
  double sums[2];
  backend_.download(sums_.data(), std::as_writable_bytes(std::span(sums)));
  const std::int64_t steps = (step_ - 1) % plan_.steps_per_epoch + 1;
  const std::int64_t examples = std::min(steps * options_.batch, data_.count());
  return {sums[0] / double(examples), sums[1] / double(examples), examples};
}

std::optional<std::string> Trainer::not_finite(bool thorough) {
  double sums[2];
  backend_.download(sums_.data(), std::as_writable_bytes(std::span(sums)));
  const bool sound = std::isfinite(sums[0]) && std::isfinite(sums[1]);
  const std::vector<float> params =
      thorough || !sound ? downloaded(backend_, params_) : std::vector<float>();
  if (sound && all_finite(params)) {
    sound_step_ = step_;
    if (thorough) sound_weights_step_ = step_;
    return std::nullopt;
  }
  return name_not_finite(sound, params);
}

// Gradients of a step are still in its parts: a weight that is bad while its gradient is not tells
// of an update too large, a C_hat that is bad makes all that follows it bad in the same step.
std::string Trainer::name_not_finite(bool C_hat_is_finite, std::span<const float> params) {
  const std::size_t tensors = param_layout_.slots().size();
  std::vector<std::string> found;
  const auto add = [&](const std::string& kind, const std::vector<std::string>& names) {
    if (names.size() == tensors) {
      found.push_back(fmt::format("every {} ({} to {})", kind, names.front(), names.back()));
    } else if (!names.empty()) {
      found.push_back(fmt::format("the {} of {}", kind, fmt::join(names, ", ")));
    }
  };
  if (!C_hat_is_finite) found.push_back("C_hat");
  // A bad number in any part stays bad in a sum over them.
  std::vector<float> gradient(part_layout_.gradient_size);
  const std::vector<float> parts = downloaded(backend_, parts_);
  for (std::int64_t p = 0; p < plan_.tiling.parts; ++p) {
    for (std::size_t i = 0; i < gradient.size(); ++i)
      gradient[i] += parts[p * part_layout_.size() + i];
  }
  add("gradient", not_finite_tensors(param_layout_, gradient));
  const std::vector<std::string> weights = not_finite_tensors(param_layout_, params);
  add("weight", weights);
  // Weights were last known to be good when they were looked at: C_hat shows them a step later, or
  // never.
  const std::int64_t sound = C_hat_is_finite ? sound_weights_step_ : sound_step_;
  if (!weights.empty() && sound_weights_step_ < sound)
    found.back() += fmt::format(", last seen finite after step {}", sound_weights_step_);
  const std::string when = step_ - sound <= 1 ? fmt::format("step {}", step_)
                                              : fmt::format("step {} to {}", sound + 1, step_);
  return fmt::format("{}: no longer finite: {}", when, fmt::join(found, "; "));
}

TrainerState Trainer::state() {
  double sums[2];
  backend_.download(sums_.data(), std::as_writable_bytes(std::span(sums)));
  return {step_,
          downloaded(backend_, params_),
          downloaded(backend_, velocity_),
          downloaded(backend_, baseline_),
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
  step_ = sound_step_ = sound_weights_step_ = state.step;
  if (step_ % plan_.steps_per_epoch != 0) begin_epoch();
}

std::size_t Trainer::workspace_bytes() const {
  std::size_t bytes = betas_->bytes();
  for (const Buffer* buffer : {&params_, &velocity_, &baseline_, &parts_, &C_hat_, &ess_, &order_})
    bytes += buffer->bytes();
  for (const auto& pass : passes_) bytes += pass->workspace_bytes();
  return bytes;
}

}  // namespace sfnn
