#include "host/train/trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "host/base/error.hpp"
#include "host/train/finite.hpp"

namespace sfnn {
namespace {

std::vector<float> downloaded(Backend& backend, const Buffer& from) {
  std::vector<float> to(from.bytes() / sizeof(float));
  download(backend, from.floats(), to);
  return to;
}

// Throws DataError if `from` is not as large as `to`.
void restore_array(Backend& backend, std::span<const float> from, const Buffer& to) {
  if (from.size_bytes() != to.bytes()) throw DataError("the saved state does not fit this run");
  backend.upload(std::as_bytes(from), to.data());
}

}  // namespace

Model fresh_model(Backend& backend, const NetworkSpec& spec, const TrainOptions& options,
                  const DataSet& data) {
  return {backend, spec, initial_params(spec, options.seed, options.init_scale), data.x_mean};
}

Trainer::Trainer(const TrainPlan& plan, Model model, const TrainOptions& options,
                 const DataSet& data)
    : model_(std::move(model)),
      plan_(plan),
      batches_(model_.backend(), data.train, options.batch, options.seed),
      gradient_(model_, options, plan_, data),
      optimizer_(model_, options),
      sums_(model_.backend(), 2 * sizeof(double)) {}

void Trainer::train_step() {
  if (step_ % plan_.steps_per_epoch == 0) model_.backend().fill_zero(sums_.data(), sums_.bytes());
  batches_.run_step(step_, learning_rate(step_), [&](std::int64_t N) { enqueue_step(N); });
  ++step_;
}

void Trainer::enqueue_step(std::int64_t N) {
  gradient_.enqueue(batches_, N);
  const Range range(model_.backend(), "update");
  model_.backend().accumulate_metrics(
      {N, gradient_.C_hat(), gradient_.ess(), reinterpret_cast<double*>(sums_.data())});
  const Parts parts = gradient_.parts(N);
  optimizer_.enqueue(parts, N);
  gradient_.move_baseline(parts, N);
}

// --- figures

std::array<double, 2> Trainer::download_sums() {
  std::array<double, 2> sums;
  model_.backend().download(sums_.data(), std::as_writable_bytes(std::span(sums)));
  return sums;
}

Trainer::EpochMeans Trainer::epoch_means() {
  if (step_ == 0) return {};
  const auto [C_hat, ess] = download_sums();
  const std::int64_t examples = batches_.examples_in((step_ - 1) % plan_.steps_per_epoch + 1);
  return {C_hat / double(examples), ess / double(examples), examples};
}

std::optional<std::string> Trainer::not_finite() {
  const auto [C_hat, ess] = download_sums();
  if (!std::isfinite(C_hat) || !std::isfinite(ess))
    return name_not_finite(state(), /*C_hat_is_finite=*/false);
  sound_step_ = step_;
  return std::nullopt;
}

std::optional<std::string> Trainer::not_finite(const TrainState& state) {
  const bool sound = std::isfinite(state.c_hat_sum) && std::isfinite(state.effective_particles_sum);
  const NetworkState& P = state.P();
  const bool arrays_sound =
      all_finite(P.params) && all_finite(P.baseline) &&
      std::ranges::all_of(P.optimizer, [](const auto& array) { return all_finite(array.values); });
  if (!sound || !arrays_sound) return name_not_finite(state, sound);
  sound_step_ = sound_weights_step_ = step_;
  return std::nullopt;
}

// Gradients of a step are still in its parts: a weight that is bad while its gradient is not tells
// of an update too large, a C_hat that is bad makes all that follows it bad in the same step.
std::string Trainer::name_not_finite(const TrainState& state, bool C_hat_is_finite) {
  const ParamLayout& layout = model_.layout();
  std::vector<std::string> found;
  const auto add = [&](const std::string& kind, const std::vector<std::string>& names) {
    if (names.size() == layout.slots().size()) {
      found.push_back(fmt::format("every {} ({} to {})", kind, names.front(), names.back()));
    } else if (!names.empty()) {
      found.push_back(fmt::format("the {} of {}", kind, fmt::join(names, ", ")));
    }
  };
  if (!C_hat_is_finite) found.push_back("C_hat");
  // A bad number in any part stays bad in a sum over them.
  add("gradient",
      not_finite_tensors(layout, gradient_.download_sum(batches_.examples_of(step_ - 1))));
  const std::vector<std::string> weights = not_finite_tensors(layout, state.P().params);
  add("weight", weights);
  // Weights were last known to be good when they were looked at: C_hat shows them a step later, or
  // never.
  const std::int64_t sound = C_hat_is_finite ? sound_weights_step_ : sound_step_;
  if (!weights.empty() && sound_weights_step_ < sound)
    found.back() += fmt::format(", last seen finite after step {}", sound_weights_step_);
  if (found.empty()) {
    for (const NamedArray& array : state.P().optimizer)
      add(array.name, not_finite_tensors(layout, array.values));
    if (found.empty()) found.push_back("the baseline");
  }
  const std::string when = step_ - sound <= 1 ? fmt::format("step {}", step_)
                                              : fmt::format("step {} to {}", sound + 1, step_);
  return fmt::format("{}: no longer finite: {}", when, fmt::join(found, "; "));
}

// --- state

TrainState Trainer::state() {
  Backend& backend = model_.backend();
  const auto [C_hat, ess] = download_sums();
  TrainState state{.step = step_, .c_hat_sum = C_hat, .effective_particles_sum = ess};
  NetworkState& P = state.P();
  P.spec = model_.spec();
  P.params = model_.download_params();
  for (const Optimizer::Array& array : optimizer_.state())
    P.optimizer.push_back({std::string(array.name), downloaded(backend, array.values)});
  P.baseline = downloaded(backend, gradient_.baseline());
  return state;
}

void Trainer::restore(const TrainState& state) {
  const NetworkState& P = state.P();
  const std::span<Optimizer::Array> arrays = optimizer_.state();
  const bool same_names = std::ranges::equal(
      P.optimizer, arrays, {}, [](const NamedArray& array) { return std::string_view(array.name); },
      [](const Optimizer::Array& array) { return array.name; });
  if (!same_names || state.step < 0 || state.step > total_steps())
    throw DataError("the saved state does not fit this run");
  Backend& backend = model_.backend();
  for (std::size_t i = 0; i < arrays.size(); ++i)
    restore_array(backend, P.optimizer[i].values, arrays[i].values);
  restore_array(backend, P.baseline, gradient_.baseline());
  model_.set_params(P.params);
  const double sums[2] = {state.c_hat_sum, state.effective_particles_sum};
  backend.upload(std::as_bytes(std::span(sums)), sums_.data());
  step_ = sound_step_ = sound_weights_step_ = state.step;
}

std::size_t Trainer::workspace_bytes() const {
  return sizeof(float) * model_.layout().size + optimizer_.bytes() + gradient_.workspace_bytes() +
         batches_.bytes();
}

}  // namespace sfnn
