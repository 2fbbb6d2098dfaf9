// The table of estimators: one row holds all that the rest of the program needs to know of one.
// Backends and passes work by a row's rules and know no estimator.
//
// A score unit's gradient is g_a = (omega - beta) (h - p), one omega per particle, one beta per
// unit; a path unit's is g_a = e G(h), with G(h) from the layer above and e a function of the
// unit's input, its draw and the uniform that decided it. Eq. (17) (19) (22) (30) (32).
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "kernels/hd.hpp"

namespace sfnn {

enum class Estimator : std::int32_t {
  G1,
  G2,
  G3,
  G4,
  G5,
  vimco,
  vimco_geometric,
  rloo,
  darn,
  st_gumbel
};
enum class EstimatorKind { path, score };

// omega [N*M], computed with all log-weights of an example at hand.
enum class OmegaRule : std::int32_t {
  none,   // a path estimator has none
  w_bar,  // Eq. (30), (32)
  C_hat,  // Eq. (17): L = C_hat for all M particles
  // What a particle adds to C_hat, by C_hat of the others: -log(1 - w_bar), up to a constant; or
  // with the geometric mean of the others in its place.
  gain,
  gain_over_geometric_mean,
  // (log_w - mean log_w of the others) / M
  excess,
};

// Is a particle compared with the others of its example?
SFNN_HD constexpr bool compares_particles(OmegaRule rule) {
  switch (rule) {
    case OmegaRule::none:
    case OmegaRule::w_bar:
    case OmegaRule::C_hat:
      return false;
    case OmegaRule::gain:
    case OmegaRule::gain_over_geometric_mean:
    case OmegaRule::excess:
      return true;
  }
  return false;
}

// beta [n_s]. By Eq. (31) subtracting it does not change the mean.
enum class BetaRule {
  none,             // 0
  constant,         // Eq. (32): c, or what auto_c says
  moving_baseline,  // Eq. (18): L_bar, from moving averages over the steps
};

// What weighs g_o.
enum class OutputWeight {
  w_bar,  // Eq. (15), (16)
  equal,  // 1/M
};

constexpr bool follows_w_bar(OutputWeight weight) {
  switch (weight) {
    case OutputWeight::w_bar:
      return true;
    case OutputWeight::equal:
      return false;
  }
  return false;
}

// e, what multiplies G(h) of a path unit.
enum class PathRule : std::int32_t {
  one,            // Eq. (19)
  sigmoid_slope,  // Eq. (22): sigma'(a) = p (1 - p)
  half_score,     // |h - p| / 2
  gumbel_slope,   // dz/da of the relaxed draw z = sigma((a - logit u) / T)
};

// Does e need the particle's own draw, h or u? It is then applied before particles are summed, even
// if they share a.
SFNN_HD constexpr bool reads_draw(PathRule rule) {
  switch (rule) {
    case PathRule::one:
    case PathRule::sigmoid_slope:
      return false;
    case PathRule::half_score:
    case PathRule::gumbel_slope:
      return true;
  }
  return false;
}

struct EstimatorRow {
  Estimator id;
  std::string_view name;
  EstimatorKind kind;
  OmegaRule omega = OmegaRule::none;
  BetaRule beta = BetaRule::none;
  PathRule path = PathRule::one;
  OutputWeight output_weight = OutputWeight::w_bar;
  // Proportional to w_bar: a particle of no responsibility may be dropped in all layers.
  bool follows_w_bar = false;
  // With M = 1 every responsibility is 1, whatever was drawn, and there is nobody to compare with:
  // there is nothing to learn from.
  std::int64_t least_particles = 1;
  // The constant c of M particles, unless it is set.
  double (*auto_c)(std::int64_t M) = nullptr;
  // Would follow w_bar if c were 0: see with_c.
  bool follows_without_c = false;

  // Keeps averages from step to step.
  constexpr bool has_moving_state() const { return beta == BetaRule::moving_baseline; }
  constexpr bool weight_per_particle() const { return reads_draw(path); }
};

inline double equal_share(std::int64_t M) { return 1 / double(M); }
// -log(1 - w_bar) of particles that weigh the same
inline double gain_of_equals(std::int64_t M) {
  return M > 1 ? std::log(double(M) / double(M - 1)) : 0;
}

// G1: score times (C_hat - L_bar), unbiased, high variance. G2, G3: back-propagation with dh/da = 1
// or sigma'(a), biased. G4: score times w_bar, unbiased for the fixed-Q bound. G5: score times
// (w_bar - c), G4's mean with less variance.
// vimco, vimco-geometric: score times what the particle adds to C_hat; unbiased for E[C_hat_M].
// rloo: score times its lead over the others; unbiased for E[C_hat_1], and so are the output's 1/M.
// darn: DARN-1/2, for bits the same as ReinMax: exact if log P(y|h) is quadratic in the layer, else
// biased. st-gumbel: straight-through Gumbel-softmax, biased.
inline constexpr std::array<EstimatorRow, 10> kEstimators{{
    {Estimator::G1, "G1", EstimatorKind::score, OmegaRule::C_hat, BetaRule::moving_baseline},
    {Estimator::G2, "G2", EstimatorKind::path, OmegaRule::none, BetaRule::none, PathRule::one,
     OutputWeight::w_bar, /*follows_w_bar=*/true},
    {Estimator::G3, "G3", EstimatorKind::path, OmegaRule::none, BetaRule::none,
     PathRule::sigmoid_slope, OutputWeight::w_bar, /*follows_w_bar=*/true},
    {Estimator::G4, "G4", EstimatorKind::score, OmegaRule::w_bar, BetaRule::none, PathRule::one,
     OutputWeight::w_bar, /*follows_w_bar=*/true, /*least_particles=*/2},
    {Estimator::G5, "G5", EstimatorKind::score, OmegaRule::w_bar, BetaRule::constant, PathRule::one,
     OutputWeight::w_bar, /*follows_w_bar=*/false, /*least_particles=*/2, equal_share},
    {Estimator::vimco, "vimco", EstimatorKind::score, OmegaRule::gain, BetaRule::constant,
     PathRule::one, OutputWeight::w_bar, /*follows_w_bar=*/false, /*least_particles=*/2,
     gain_of_equals, /*follows_without_c=*/true},
    {Estimator::vimco_geometric, "vimco-geometric", EstimatorKind::score,
     OmegaRule::gain_over_geometric_mean, BetaRule::none, PathRule::one, OutputWeight::w_bar,
     /*follows_w_bar=*/false, /*least_particles=*/2},
    {Estimator::rloo, "rloo", EstimatorKind::score, OmegaRule::excess, BetaRule::none,
     PathRule::one, OutputWeight::equal, /*follows_w_bar=*/false, /*least_particles=*/2},
    {Estimator::darn, "darn", EstimatorKind::path, OmegaRule::none, BetaRule::none,
     PathRule::half_score, OutputWeight::w_bar, /*follows_w_bar=*/true},
    {Estimator::st_gumbel, "st-gumbel", EstimatorKind::path, OmegaRule::none, BetaRule::none,
     PathRule::gumbel_slope, OutputWeight::w_bar, /*follows_w_bar=*/true},
}};

// The row if c is what is taken off: without it, an estimator may begin to follow w_bar.
constexpr EstimatorRow with_c(EstimatorRow row, double c) {
  if (c != 0 || !row.follows_without_c) return row;
  row.beta = BetaRule::none;
  row.follows_w_bar = true;
  return row;
}

constexpr const EstimatorRow& row_of(Estimator e) { return kEstimators[std::size_t(e)]; }

inline std::optional<Estimator> parse_estimator(std::string_view name) {  // none: there is no such
  for (const EstimatorRow& row : kEstimators)
    if (row.name == name) return row.id;
  return std::nullopt;
}

constexpr bool estimators_are_in_order() {
  for (std::size_t i = 0; i < kEstimators.size(); ++i)
    if (kEstimators[i].id != Estimator(i)) return false;
  return true;
}
static_assert(estimators_are_in_order());

}  // namespace sfnn
