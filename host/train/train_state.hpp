// What training carries from one step to the next, on the host: what a checkpoint holds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/base/error.hpp"
#include "host/model/network.hpp"
#include "host/train/state_arrays.hpp"

namespace sfnn {

struct NamedArray {
  std::string name;
  std::vector<float> values;

  friend bool operator==(const NamedArray&, const NamedArray&) = default;
};

// One network as training left it.
struct NetworkState {
  NetworkSpec spec;
  std::vector<NamedArray> arrays;  // as state_arrays lists them

  // The array of this name; throws Error if there is none.
  const std::vector<float>& array(std::string_view name) const {
    const auto found = std::ranges::find(arrays, name, &NamedArray::name);
    if (found == arrays.end()) throw Error("the network has no array of that name");
    return found->values;
  }
  std::vector<float>& array(std::string_view name) {
    return const_cast<std::vector<float>&>(std::as_const(*this).array(name));
  }
  const std::vector<float>& params() const { return array(kParams); }
  friend bool operator==(const NetworkState&, const NetworkState&) = default;
};

// The network that is trained; others may stand beside it.
constexpr const char* kModelP = "P";
constexpr const char* kModelR = "R";  // the learned proposal

struct TrainState {
  std::int64_t epoch = 0;  // finished ones
  std::int64_t step = 0;   // finished ones, over the whole run
  double seconds = 0;      // spent in training, over all its sessions
  // By draws of P or of R, as eval.select has it; none before the first validation.
  std::optional<double> best_valid_nll;
  std::int64_t best_epoch = 0;
  std::int64_t tail_step = 0;    // the run was continued from it with another schedule; 0: never
  std::int64_t ended_early = 0;  // 1: by train.patience
  // Sums over the examples and the steps of the epoch that is under way.
  double c_hat_sum = 0, effective_particles_sum = 0, gradient_norm_sum = 0, clipped_steps = 0;
  // C_hat so far, the mean since that epoch began, after each of its parts that is done.
  std::vector<double> c_hat_marks;
  std::map<std::string, NetworkState> networks;  // by name

  NetworkState& P() { return networks[kModelP]; }
  const NetworkState& P() const { return networks.at(kModelP); }
  const NetworkState* R() const {  // null: there is none
    const auto found = networks.find(kModelR);
    return found == networks.end() ? nullptr : &found->second;
  }

  // v(key, value, since) for each number: what is saved is what is loaded. Checkpoints of a version
  // before `since` do not have the key; keys of theirs that are none of these are passed over.
  template <class Self, class V>
  static void visit(Self& self, V&& v) {
    v("epoch", self.epoch, 1);
    v("step", self.step, 1);
    v("seconds", self.seconds, 1);
    v("best_valid_nll", self.best_valid_nll, 1);
    v("best_epoch", self.best_epoch, 1);
    v("c_hat_sum", self.c_hat_sum, 1);
    v("effective_particles_sum", self.effective_particles_sum, 1);
    v("gradient_norm_sum", self.gradient_norm_sum, 3);
    v("clipped_steps", self.clipped_steps, 3);
    v("c_hat_marks", self.c_hat_marks, 3);
    v("tail_step", self.tail_step, 3);
    v("ended_early", self.ended_early, 3);
  }
  friend bool operator==(const TrainState&, const TrainState&) = default;
};

}  // namespace sfnn
