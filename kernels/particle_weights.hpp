// Eq. (6) (28): from the log-weights of an example's particles to the criterion and the
// responsibilities.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/estimators.hpp"
#include "kernels/hd.hpp"

namespace sfnn {

// log sum exp in one pass: `sum` counts in units of exp(max).
template <class Real>
struct LogSumExp {
  Real max = -INFINITY;
  Real sum = 0;

  SFNN_HD void add(Real value) {
    if (value > max) {
      sum = sum * std::exp(max - value) + Real(1);
      max = value;
    } else if (value != -INFINITY) {  // a NaN must show
      sum += std::exp(value - max);
    }
  }
  SFNN_HD void merge(const LogSumExp& other) {
    if (other.max > max) {
      sum = sum * std::exp(max - other.max) + other.sum;
      max = other.max;
    } else {  // two empty ones, or equal ones: their difference may be inf - inf
      sum += other.sum * (other.max == max ? Real(1) : std::exp(other.max - max));
    }
  }
  SFNN_HD Real value() const { return max + std::log(sum); }
};

// Running sums of w and w^2 over log-weights; squares count in units of exp(2 max).
template <class Real>
struct WeightSums {
  LogSumExp<Real> weights;
  Real squares = 0;

  SFNN_HD void add(Real log_w) {
    const Real max = weights.max;
    weights.add(log_w);
    if (log_w > max) {
      const Real shrink = std::exp(max - log_w);
      squares = squares * (shrink * shrink) + Real(1);
    } else if (log_w != -INFINITY) {
      const Real w = std::exp(log_w - max);
      squares += w * w;
    }
  }
  SFNN_HD Real effective() const {  // 1 / sum_m w_bar^2
    return weights.sum * weights.sum / squares;
  }
};

// All particles of an example, as omega's rules see them. Log-weights count from the largest.
template <class Real>
struct ParticleRow {
  Real M = 1, C_hat = 0;
  LogSumExp<Real> all;
  // Only of rules that compare particles.
  LogSumExp<Real> lower;  // those that weigh less than the largest
  Real highest = 0;       // how many weigh as much as the largest
  Real sum = 0;           // of log_w - all.max

  SFNN_HD void add(Real log_w) {
    if (log_w < all.max) {
      lower.add(log_w);
    } else {
      highest += Real(1);
    }
    sum += log_w - all.max;
  }

  // log(1 - w_bar). Near w_bar = 1, which only a single largest can come to, from the others.
  SFNN_HD Real log_rest(Real log_w, Real w_bar) const {
    if (log_w < all.max || highest > Real(1)) return std::log1p(-w_bar);
    return lower.max - all.max + std::log(lower.sum / all.sum);
  }
};

// log(exp(a) + exp(b))
template <class Real>
SFNN_HD Real log_add_exp(Real a, Real b) {
  const Real high = a > b ? a : b, low = a > b ? b : a;
  return low == -INFINITY ? high : high + std::log1p(std::exp(low - high));
}

template <class Real>
SFNN_HD Real omega_at(OmegaRule rule, const ParticleRow<Real>& row, Real log_w, Real w_bar) {
  const Real others = row.M - Real(1);
  if (compares_particles(rule) && others == Real(0)) return Real(0);
  switch (rule) {
    case OmegaRule::none:
      return Real(0);
    case OmegaRule::w_bar:
      return w_bar;
    case OmegaRule::C_hat:
      return row.C_hat;
    case OmegaRule::gain:
      return -row.log_rest(log_w, w_bar);
    case OmegaRule::gain_over_geometric_mean: {
      // -log of (sum of the others' w + their geometric mean) / sum of all w
      const Real mean = (row.sum - (log_w - row.all.max)) / others;
      return -log_add_exp(row.log_rest(log_w, w_bar), mean - std::log(row.all.sum));
    }
    case OmegaRule::excess:
      return (log_w - row.all.max - row.sum / row.M) / others;
  }
  return Real(0);
}

}  // namespace sfnn
