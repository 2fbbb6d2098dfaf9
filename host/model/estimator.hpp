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
  // With M = 1 the responsibility is 1 whatever was drawn, so it teaches nothing.
  bool needs_two_particles = false;
  // Proportional to w_bar: a particle of no responsibility may be dropped in all layers.
  bool follows_w_bar = false;
  bool has_baseline = false;  // keeps moving averages from step to step
};

// G1: score times (C_hat - L_bar), unbiased, high variance. G2, G3: back-propagation with dh/da = 1
// or sigma'(a), biased. G4: score times w_bar, unbiased for the fixed-Q bound. G5: score times
// (w_bar - c), G4's mean with less variance.
inline constexpr std::array<EstimatorInfo, 5> kEstimators{{
    {.id = Estimator::G1, .name = "G1", .kind = EstimatorKind::score, .has_baseline = true},
    {.id = Estimator::G2, .name = "G2", .kind = EstimatorKind::path, .follows_w_bar = true},
    {.id = Estimator::G3, .name = "G3", .kind = EstimatorKind::path, .follows_w_bar = true},
    {.id = Estimator::G4,
     .name = "G4",
     .kind = EstimatorKind::score,
     .needs_two_particles = true,
     .follows_w_bar = true},
    {.id = Estimator::G5, .name = "G5", .kind = EstimatorKind::score, .needs_two_particles = true},
}};

constexpr const EstimatorInfo& info(Estimator e) { return kEstimators[std::size_t(e)]; }

}  // namespace sfnn
