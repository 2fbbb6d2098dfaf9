// Ops of the backward pass.
#pragma once

#include <cstdint>

#include "kernels/forward_args.hpp"
#include "kernels/hidden_grad.hpp"
#include "kernels/tile.hpp"
#include "kernels/views.hpp"

namespace sfnn {

// Eq. (15) (16): g_o = weight * d log P / d o on the rows of the set
struct OutputGradArgs {
  static constexpr const char* kName = "output_grad";
  OutputOperands of;
  const float* weight = nullptr;  // [N*M]
  RowSet rows;
  Matrix g_o;  // [rows.count, D_out]
};

// g_a of a layer's stochastic units. a is without its bias: p = sigma(a + b).
struct HiddenGradArgs {
  static constexpr const char* kName = "hidden_grad";
  Estimator estimator = Estimator::G3;
  Tile tile;
  ConstMatrix a;                    // [N or N*M, n_s] = z W_s
  const float* b = nullptr;         // [n_s]
  ConstBits s;                      // [N*M, n_s]; unused by path estimators
  const float* w_bar = nullptr;     // [N*M]
  const float* C_hat = nullptr;     // [N]
  const float* baseline = nullptr;  // [2, n_s]: E[score^2], E[score^2 L] before this step (G1)
  float c = 0;                      // G5's constant
  RowSet rows;                      // the rows that g holds, if it is per particle
  // path: in G(h), out g_a; score: out. [N, n_s], summed over particles, if a is shared; else
  // [rows.count, n_s]
  Matrix g;
};

// g *= d (1 - d), in place
struct DeterministicGradArgs {
  static constexpr const char* kName = "deterministic_grad";
  ConstMatrix d;  // [height, n_d]
  RowSet rows;
  Matrix g;  // [rows.count, n_d]
};

// out[n] = sum of the rows of g that belong to example n
struct SumParticlesArgs {
  static constexpr const char* kName = "sum_particles";
  Tile tile;
  RowSet rows;
  ConstMatrix g;  // [rows.count, n]
  Matrix out;     // [N, n]
};

// gb += sum of the rows of g
struct AccumulateColumnSumsArgs {
  static constexpr const char* kName = "accumulate_column_sums";
  ConstMatrix g;        // [rows, n]
  float* gb = nullptr;  // [n]
};

// sums += over all rows of score^2 and of score^2 C_hat
struct AccumulateBaselineArgs {
  static constexpr const char* kName = "accumulate_baseline";
  Tile tile;
  ConstMatrix a;                 // [N or N*M, n_s]
  const float* b = nullptr;      // [n_s]
  ConstBits s;                   // [N*M, n_s]
  const float* C_hat = nullptr;  // [N]
  float* sums = nullptr;         // [2, n_s]
};

}  // namespace sfnn
