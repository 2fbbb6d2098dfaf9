// Ops that end a step.
#pragma once

#include <cstdint>

#include "kernels/optimizers.hpp"
#include "kernels/tree_sum.hpp"

namespace sfnn {

// Squares of a gradient are summed in runs of this many elements, and then run by run: an order
// that depends on the shape alone.
constexpr std::int64_t kSquareRun = 1024;
constexpr std::int64_t square_runs(std::int64_t size) {
  return (size + kSquareRun - 1) / kSquareRun;
}

// Parameters that follow each other and learn alike: from the end of the segment before to `end`.
struct UpdateSegment {
  std::int64_t end = 0;
  float rate = 1;   // times the clock's learning rate
  float decay = 0;  // weight decay
};

// One step of an optimiser, by the gradient g = clip * scale * sum of parts: see
// kernels/update.hpp. What changes from step to step comes from the clock.
struct UpdateArgs {
  static constexpr const char* kName = "update";
  OptimizerKind optimizer = OptimizerKind::sgd;
  float* params = nullptr;                  // [size]
  float* arrays[kMaxOptimizerArrays] = {};  // [size] each, as many as the optimiser's row has
  Parts parts;                              // the gradient, [count, >= size]
  std::int64_t size = 0;
  float scale = 1;  // 1 / batch size
  float momentum = 0.9f;
  // Adam's: what is kept of the moments, and the share of what is new, 1 - beta, rounded once.
  float beta1 = 0.9f, beta2 = 0.999f, share1 = 0.1f, share2 = 0.001f, epsilon = 1e-8f;
  const UpdateSegment* segments = nullptr;  // in order, the last ends at size; null: {size, 1, 0}
  float* average = nullptr;      // [size], the moving average of the parameters; null: none
  const float* clip = nullptr;   // [1], as gradient_norm leaves it; null: 1
  float* square_sums = nullptr;  // [square_runs(size)], of g; null: not needed
};

// The sums of squares of g = scale * sum of parts, as an update leaves them: for a norm that must
// be known before the update.
struct SquareSumsArgs {
  static constexpr const char* kName = "square_sums";
  Parts parts;  // [count, >= size]
  std::int64_t size = 0;
  float scale = 1;
  float* square_sums = nullptr;  // [square_runs(size)]
};

// The norm of a step's gradient, over all its networks: the root of the sum of `square_sums`.
struct GradientNormArgs {
  static constexpr const char* kName = "gradient_norm";
  const float* square_sums = nullptr;  // [count]
  std::int64_t count = 0;
  float clip_norm = 0;     // largest norm; 0: any
  float* clip = nullptr;   // [1], out: what makes a larger gradient that long, else 1; may be null
  double* sums = nullptr;  // [2]: the norm is added to the first, a clipped step to the second
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
