// Ops that end a step.
#pragma once

#include <cstdint>

#include "kernels/tree_sum.hpp"

namespace sfnn {

// v = momentum * v + scale * sum of parts; params += learning rate * v
struct UpdateArgs {
  static constexpr const char* kName = "update";
  float* params = nullptr;    // [size]
  float* velocity = nullptr;  // [size]
  Parts parts;                // the gradient, [count, >= size]
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
