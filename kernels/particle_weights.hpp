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

template <class Real>
SFNN_HD Real omega_at(OmegaRule rule, Real w_bar, Real C_hat) {
  switch (rule) {
    case OmegaRule::none:
      return Real(0);
    case OmegaRule::w_bar:
      return w_bar;
    case OmegaRule::C_hat:
      return C_hat;
  }
  return Real(0);
}

}  // namespace sfnn
