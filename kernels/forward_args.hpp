// Ops of the forward pass, the outputs' likelihood and the particles' weights.
#pragma once

#include <cstdint>

#include "kernels/activations.hpp"
#include "kernels/estimators.hpp"
#include "kernels/output.hpp"
#include "kernels/proposal.hpp"
#include "kernels/tile.hpp"
#include "kernels/views.hpp"

namespace sfnn {

// s = (u <= sigma(a + b)), u drawn by (example, particle, unit); with R, sigma(a + b + e).
struct SampleHiddenArgs {
  static constexpr const char* kName = "sample_hidden";
  Draw draw;
  Tile tile;
  ConstMatrix a;             // [N or N*M, n_s] = z W_s; data null: 0, as is b
  const float* b = nullptr;  // [n_s]
  Bits s;                    // [N*M, n_s]
  ProposalLogits R = {};     // data null: drawn from P
};

// d = activation(shared[n] + d + b), in place.
struct ActivateArgs {
  static constexpr const char* kName = "activate";
  Tile tile;
  ConstMatrix shared;        // [N, n_d]; data null: none
  const float* b = nullptr;  // [n_d]
  Matrix d;                  // [N or N*M, n_d]
  Activation activation = Activation::sigmoid;
};

// The outputs o, and the targets y to compare them with.
struct OutputOperands {
  Output output = Output::bernoulli;
  Tile tile;
  ConstMatrix o;             // [N*M, D_out * logits per output] = z V, without c
  const float* c = nullptr;  // [D_out * logits per output]
  ConstMatrix y;             // [N, D_out]; softmax: [N, 1], the class as a number
  OutputScale scale = {};

  SFNN_HD std::int64_t D_out() const { return has_class_target(output) ? o.cols : y.cols; }
  // sigma of output i in a row of o
  SFNN_HD Deviation<float> deviation(const float* o_row, std::int64_t i) const {
    return deviation_at(output, scale, o_row, c, D_out(), i);
  }
};

// log_w = log P(y | o)
struct OutputLogProbArgs {
  static constexpr const char* kName = "output_log_prob";
  OutputOperands of;
  float* log_w = nullptr;  // [N*M]
};

// mean[n] += sum over the rows of o of E[y | o]: class probabilities, sigmoids, rates, or o + c
// itself
struct AccumulateMeanOutputArgs {
  static constexpr const char* kName = "accumulate_mean_output";
  OutputOperands of;
  Matrix mean;  // [N, D_out]
};

// Eq. (6) (28): w_bar = softmax_m(log_w), C_hat = logsumexp_m(log_w) - log M,
// ess = 1 / sum_m w_bar^2, and omega by its rule.
struct ParticleWeightsArgs {
  static constexpr const char* kName = "particle_weights";
  Tile tile;
  const float* log_w = nullptr;            // [N*M]
  float* w_bar = nullptr;                  // [N*M]
  float *C_hat = nullptr, *ess = nullptr;  // [N]
  OmegaRule omega_rule = OmegaRule::none;
  float* omega = nullptr;  // [N*M], unless the rule is none; may be w_bar, if that is the rule
};

// index = the rows with w_bar >= threshold, ascending
struct SelectRowsArgs {
  static constexpr const char* kName = "select_rows";
  using Result = RowSet;
  Tile tile;
  const float* w_bar = nullptr;  // [N*M]
  float threshold = 0;
  std::int32_t* index = nullptr;  // room for N*M
};

// sums += {sum C_hat, sum ess}, in double
struct AccumulateMetricsArgs {
  static constexpr const char* kName = "accumulate_metrics";
  std::int64_t N = 0;
  const float *C_hat = nullptr, *ess = nullptr;  // [N]
  double* sums = nullptr;                        // [2]
};

}  // namespace sfnn
