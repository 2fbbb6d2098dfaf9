// What a trainer carries from step to step: saved, restored, searched for bad numbers. All of it
// goes over the list of state_arrays.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/base/error.hpp"
#include "host/train/finite.hpp"
#include "host/train/trainer.hpp"

namespace sfnn {
namespace {

[[noreturn]] void refuse_state() { throw DataError("the saved state does not fit this run"); }

std::vector<float> downloaded(Backend& backend, const Buffer& from) {
  std::vector<float> to(from.bytes() / sizeof(float));
  download(backend, from.floats(), to);
  return to;
}

}  // namespace

std::vector<ArraySpec> Trainer::arrays_of(const StepNetworks::Network& network) const {
  return state_arrays(network.model.spec(), plan_.pass.estimator, options_);
}

Buffer& Trainer::buffer(StepNetworks::Network& network, const ArraySpec& array) {
  if (array.name == kParams) return network.model.params_buffer();
  if (array.name == kAverage) return network.average->params_buffer();
  if (array.name == kBaseline) return gradient_.baseline();
  return *optimizer_.array(network.name, array.name);
}

TrainState Trainer::state() {
  const Sums sums = download_sums();
  TrainState state{.step = step_,
                   .tail_step = tail_step_,
                   .c_hat_sum = sums.C_hat,
                   .effective_particles_sum = sums.effective_particles,
                   .gradient_norm_sum = sums.gradient_norm,
                   .clipped_steps = sums.clipped_steps};
  for (StepNetworks::Network& network : networks_) {
    NetworkState& saved = state.networks[network.name];
    saved.spec = network.model.spec();
    for (const ArraySpec& array : arrays_of(network))
      saved.arrays.push_back({array.name, downloaded(backend(), buffer(network, array))});
  }
  return state;
}

void Trainer::restore(const TrainState& state) {
  if (state.step < 0 || state.step > total_steps() || state.tail_step > state.step) refuse_state();
  for (StepNetworks::Network& network : networks_) {
    const auto saved = state.networks.find(network.name);
    const std::vector<ArraySpec> arrays = arrays_of(network);
    const auto fits = [](const NamedArray& values, const ArraySpec& array) {
      return values.name == array.name && std::int64_t(values.values.size()) == array.size;
    };
    if (saved == state.networks.end() || !std::ranges::equal(saved->second.arrays, arrays, fits))
      refuse_state();
    for (const ArraySpec& array : arrays)
      backend().upload(std::as_bytes(std::span(saved->second.array(array.name))),
                       buffer(network, array).data());
  }
  const Sums sums{state.c_hat_sum, state.effective_particles_sum, state.gradient_norm_sum,
                  state.clipped_steps};
  backend().upload(std::as_bytes(std::span(&sums, 1)), sums_.data());
  tail_step_ = state.tail_step;
  plan_.schedule = schedule_of(options_, plan_.steps_per_epoch, tail_step_);
  step_ = sound_step_ = sound_weights_step_ = state.step;
}

std::optional<std::string> Trainer::not_finite() {
  const Sums sums = download_sums();
  if (!std::isfinite(sums.C_hat) || !std::isfinite(sums.effective_particles))
    return name_not_finite(state(), /*C_hat_is_finite=*/false);
  sound_step_ = step_;
  return std::nullopt;
}

std::optional<std::string> Trainer::not_finite(const TrainState& state) {
  const bool sound = std::isfinite(state.c_hat_sum) && std::isfinite(state.effective_particles_sum);
  const bool arrays_sound = std::ranges::all_of(state.networks, [](const auto& network) {
    return std::ranges::all_of(network.second.arrays,
                               [](const NamedArray& array) { return all_finite(array.values); });
  });
  if (!sound || !arrays_sound) return name_not_finite(state, sound);
  sound_step_ = sound_weights_step_ = step_;
  return std::nullopt;
}

// The parts still hold the step's gradients. A bad weight with a finite gradient: the update was
// too large. A bad C_hat: everything after it in that step is bad, too.
std::string Trainer::name_not_finite(const TrainState& state, bool C_hat_is_finite) {
  std::vector<std::string> found;
  const auto add = [&](const std::string& kind, const StepNetworks::Network& network,
                       std::span<const float> values) {
    const ParamLayout& layout = network.model.layout();
    const std::vector<std::string> names = not_finite_tensors(layout, values);
    if (names.empty()) return false;
    found.push_back(names.size() == layout.slots().size()
                        ? fmt::format("every {} ({} to {})", kind, names.front(), names.back())
                        : fmt::format("the {} of {}", kind, fmt::join(names, ", ")));
    return true;
  };
  if (!C_hat_is_finite) found.push_back("C_hat");
  const std::int64_t sound = C_hat_is_finite ? sound_weights_step_ : sound_step_;
  const std::vector<float> sums = gradient_.download_sum(summed(batches_.examples_of(step_ - 1)));
  for (const StepNetworks::Network& network : networks_) {
    const NetworkState& saved = state.networks.at(network.name);
    add("gradient", network, std::span(sums).subspan(network.offset, network.layout.gradient_size));
    // Weights were last known to be good when they were looked at: C_hat shows them a step later,
    // or never.
    if (add("weight", network, saved.params()) && sound_weights_step_ < sound)
      found.back() += fmt::format(", last seen finite after step {}", sound_weights_step_);
    if (!found.empty()) continue;
    for (const ArraySpec& array : arrays_of(network)) {
      if (array.by_slot) {
        add(array.name, network, saved.array(array.name));
      } else if (!all_finite(saved.array(array.name))) {
        found.push_back("the " + array.name);
      }
    }
  }
  const std::string when = step_ - sound <= 1 ? fmt::format("step {}", step_)
                                              : fmt::format("step {} to {}", sound + 1, step_);
  return fmt::format("{}: no longer finite: {}", when, fmt::join(found, "; "));
}

std::size_t Trainer::workspace_bytes() {
  std::size_t bytes =
      gradient_.workspace_bytes() + exchange_.bytes() + optimizer_.bytes() + batches_.bytes();
  for (StepNetworks::Network& network : networks_)
    for (const ArraySpec& array : arrays_of(network)) bytes += buffer(network, array).bytes();
  return bytes;
}

}  // namespace sfnn
