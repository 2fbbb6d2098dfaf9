// Ops of the backward pass.
#pragma once

#include <cstdint>

#include "kernels/estimators.hpp"
#include "kernels/forward_args.hpp"
#include "kernels/proposal.hpp"
#include "kernels/tile.hpp"
#include "kernels/views.hpp"

namespace sfnn {

// Eq. (15) (16): g_o = weight * d log P / d o on the rows of the set, and the same by rho
struct OutputGradArgs {
  static constexpr const char* kName = "output_grad";
  OutputOperands of;
  const float* weight = nullptr;  // [N*M]
  RowSet rows;
  Matrix g_o;           // [rows.count, D_out * logits per output]
  Matrix g_scale = {};  // [rows.count, scale_param_count]; data null: the distribution has no rho
};

// g *= e, in place: G(h) of path units becomes g_a. a is without its bias.
struct PathGradArgs {
  static constexpr const char* kName = "path_grad";
  PathRule rule = PathRule::one;
  Tile tile;
  ConstMatrix a;             // [N or N*M, n_s] = z W_s
  const float* b = nullptr;  // [n_s]
  RowSet rows;               // which particles g holds; all N: one row per example
  Matrix g;                  // [rows.count, n_s]
  // Of rules that read the draw: what was drawn, with what, and the temperature.
  ConstBits s = {};  // [N*M, n_s]
  Draw draw = {};
  float T = 1;

  // g is summed over particles, which share a.
  SFNN_HD bool by_example() const {
    return !reads_draw(rule) && rows.all() && rows.count == tile.N;
  }
};

// g = (omega - beta) (h - p) of score units, p = sigma(a + b); if what is drawn from R depends on
// a, too: + omega_R (h - sigma(r))
struct ScoreGradArgs {
  static constexpr const char* kName = "score_grad";
  Tile tile;
  ConstMatrix a;                 // [N or N*M, n_s] = z W_s
  const float* b = nullptr;      // [n_s]
  ConstBits s;                   // [N*M, n_s]
  const float* omega = nullptr;  // [N*M]
  const float* beta = nullptr;   // [n_s]; null: 0
  RowSet rows;                   // the rows that g holds, if it is per particle
  Matrix g;  // [N, n_s], summed over particles, if a is shared; else [rows.count, n_s]
  ProposalLogits R = {};
  const float* omega_R = nullptr;  // [N*M]; null: 0
};

// Eq. (18): beta = L_bar = E[score^2 L] / E[score^2]
struct MakeBetaArgs {
  static constexpr const char* kName = "make_beta";
  const float* averages = nullptr;  // [2, n_s]: E[score^2], E[score^2 L]
  std::int64_t n_s = 0;
  float* beta = nullptr;  // [n_s]
};

// g *= the slope of the unit at d, in place
struct DeterministicGradArgs {
  static constexpr const char* kName = "deterministic_grad";
  ConstMatrix d;  // [height, n_d]
  RowSet rows;
  Matrix g;  // [rows.count, n_d]
  Activation activation = Activation::sigmoid;
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

// sums += {sum of score^2, sum of score^2 C_hat} over all rows
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
