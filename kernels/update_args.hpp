// Ops that end a step.
#pragma once

#include <cstdint>

#include "kernels/optimizers.hpp"
#include "kernels/tree_sum.hpp"

namespace sfnn {

// One step of an optimiser, by the gradient g = scale * sum of parts: see kernels/update.hpp. The
// learning rate comes from the clock.
struct UpdateArgs {
  static constexpr const char* kName = "update";
  OptimizerKind optimizer = OptimizerKind::sgd;
  float* params = nullptr;                  // [size]
  float* arrays[kMaxOptimizerArrays] = {};  // [size] each, as many as the optimiser's row has
  Parts parts;                              // the gradient, [count, >= size]
  std::int64_t size = 0;
  float scale = 1;  // 1 / batch size
  float momentum = 0.9f;
};

// L_bar's averages: avg = decay * avg + (1 - decay) * sum / rows; the first step starts them.
struct BaselineUpdateArgs {
  static constexpr const char* kName = "update_baseline";
  float* averages = nullptr;  // [size]
  Parts parts;                // the sums behind them, [count, >= size]
  std::int64_t size = 0;
  float scale = 1;  // 1 / (N*M) of the whole batch
  float decay = 0.99f;
};

}  // namespace sfnn
