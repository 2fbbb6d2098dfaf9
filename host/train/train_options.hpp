// How to train, apart from where the data and the weights come from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "host/backend/backend.hpp"
#include "host/model/network.hpp"
#include "kernels/estimators.hpp"
#include "kernels/optimizers.hpp"

namespace sfnn {

// Every member has its default, so that {.epochs = 5} warns of nothing.
struct TrainOptions {
  std::uint64_t seed = 1, data_seed = 0;
  Estimator estimator = Estimator::G3;
  std::int64_t particles = 20;
  std::int64_t batch = 100;
  std::int64_t epochs = 20;
  double learning_rate = 0.1;
  std::optional<double> warmup_epochs = {};  // min(5, epochs / 5) unless set
  double hidden_rate = 1;  // learning rate of the hidden layers, as a multiple of the output's
  OptimizerKind optimizer = OptimizerKind::sgd;
  double momentum = 0.9;
  double baseline_decay = 0.99;  // decay of G1's averages
  std::optional<double> c = {};  // constant of G5 and vimco: by their rows unless set
  double temperature = 1;        // of st-gumbel's relaxed draws
  // Least responsibility of a particle that is kept: 1e-6 / M unless set. No effect in a GPU's
  // graphs.
  std::optional<double> drop_below = {};
  double init_scale = 1;   // W ~ N(0, init_scale^2 / fan-in)
  double noise = 0;        // standard deviation of Gaussian noise on the input
  Tiling tiling = {0, 0};  // zero: chosen by the backend

  // What is used if nothing was set.
  double warmup_epochs_or_default() const {
    return warmup_epochs.value_or(std::min(5.0, double(epochs) / 5));
  }
  double c_or_default(std::int64_t M) const {
    const auto auto_c = row_of(estimator).auto_c;
    return c.value_or(auto_c ? auto_c(M) : 0);
  }
  double drop_below_or_default(std::int64_t M) const {
    return drop_below.value_or(1e-6 / double(M));
  }
};

// Throws ConfigError, naming the config's key, if the combination teaches nothing or a number is
// out of range.
void validate(const TrainOptions&, const NetworkSpec&);

}  // namespace sfnn
