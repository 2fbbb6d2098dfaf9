// Ops of a learned proposal R(h | x, y): see kernels/proposal.hpp.
#pragma once

#include <cstdint>

#include "kernels/output.hpp"
#include "kernels/product_args.hpp"
#include "kernels/proposal.hpp"
#include "kernels/tile.hpp"
#include "kernels/views.hpp"

namespace sfnn {

// What R reads: out[n] = x[n], then y[n] as numbers, a class as a one-hot vector.
struct JoinTargetArgs {
  static constexpr const char* kName = "join_target";
  Output output = Output::bernoulli;
  ConstMatrix x;  // [N, D_in]
  ConstMatrix y;  // [N, D_out]; softmax: [N, 1], the class as a number
  Matrix out;     // [N, D_in + D_out]
};

// delta of each particle, layer by layer: log_ratio = or += the layer's sum of
// softplus(r) - softplus(a + b) - h e. With the last layer log_w gets what delta adds to it.
struct LogRatioArgs {
  static constexpr const char* kName = "log_ratio";
  Tile tile;
  ConstMatrix a;             // [N or N*M, n_s] = z W_s; data null: 0, as is b
  const float* b = nullptr;  // [n_s]
  ConstBits s;               // [N*M, n_s]
  ProposalLogits R;
  Write write = Write::set;
  float* log_ratio = nullptr;  // [N*M]
  float* log_w = nullptr;      // [N*M]; null: layers follow
};

// What multiplies the scores of P (omega) and of R (omega_R).
struct ProposalWeightsArgs {
  static constexpr const char* kName = "proposal_weights";
  Tile tile;
  ProposalRule rule = ProposalRule::rws;
  std::int64_t from_P = 0;           // particles of each example, the first
  float c = 0;                       // rws: taken off their w_bar
  const float* w_bar = nullptr;      // [N*M]
  const float* log_ratio = nullptr;  // [N*M]
  float* omega = nullptr;            // [N*M] in place: w_bar or, for `bound`, -log(1 - w_bar).
                                     // Null: P's is w_bar as it stands
  float* omega_R = nullptr;          // [N*M]
};
SFNN_HD void proposal_weights_at(const ProposalWeightsArgs& p, std::int64_t r) {
  const float M = float(p.tile.M);
  const ScoreWeights<float> weights =
      score_weights_at(p.rule, /*from_P=*/r % p.tile.M < p.from_P, float(p.from_P) / M, p.c, M,
                       p.w_bar[r], p.omega ? p.omega[r] : 0.0f, p.log_ratio[r]);
  if (p.omega) p.omega[r] = weights.P;
  p.omega_R[r] = weights.R;
}

// The layer's columns of g_e: g_e[n] = sum_m omega_R (h - sigma(r))
struct ProposalGradArgs {
  static constexpr const char* kName = "proposal_grad";
  Tile tile;
  ConstMatrix a;             // [N or N*M, n_s] = z W_s; data null: 0, as is b
  const float* b = nullptr;  // [n_s]
  ConstBits s;               // [N*M, n_s]
  ProposalLogits R;
  const float* omega_R = nullptr;  // [N*M]
  Matrix g_e;                      // [N, units of all layers]
};

}  // namespace sfnn
