// The estimators' table: their names, and what the rest of the program needs to know of them.
// Their arithmetic is in kernels/hidden_grad.hpp.
#pragma once

#include <array>
#include <string_view>

#include "kernels/hidden_grad.hpp"

namespace sfnn {

struct EstimatorInfo {
  Estimator id;
  std::string_view name;
  EstimatorKind kind;
  bool needs_two_particles;  // with M = 1 the responsibility is 1 whatever was drawn, so it teaches
                             // nothing
  bool follows_w_bar;  // proportional to w_bar: a particle of no responsibility may be dropped in
                       // all layers
  bool has_baseline;   // keeps moving averages from step to step
};

// G1: score times (C_hat - L_bar), unbiased, high variance. G2, G3: back-propagation with dh/da = 1
// or sigma'(a), biased. G4: score times w_bar, unbiased for the fixed-Q bound. G5: score times
// (w_bar - c), G4's mean with less variance.
inline constexpr std::array<EstimatorInfo, 5> kEstimators{{
    {Estimator::G1, "G1", EstimatorKind::score, false, false, true},
    {Estimator::G2, "G2", EstimatorKind::path, false, true, false},
    {Estimator::G3, "G3", EstimatorKind::path, false, true, false},
    {Estimator::G4, "G4", EstimatorKind::score, true, true, false},
    {Estimator::G5, "G5", EstimatorKind::score, true, false, false},
}};

constexpr const EstimatorInfo& info(Estimator e) { return kEstimators[std::size_t(e)]; }

}  // namespace sfnn
