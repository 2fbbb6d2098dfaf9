// The gradient g_a of a stochastic unit's input a, one function per rule of kernels/estimators.hpp.
//
// Path estimators multiply what arrives from above by an element weight. Score estimators multiply
// the score h - sigma(a) by a weight and drop what arrives from above. With a shared by the M
// particles of an example both can be summed over m before anything else:
//   path    sum_m e(a) G(h^m) = e(a) * sum_m G(h^m), unless e is each particle's own
//   score   sum_m (omega_m - beta) (h^m - p)
//           = sum_m omega_m h^m - beta sum_m h^m - p (sum_m omega_m - M beta)
#pragma once

#include "kernels/activations.hpp"
#include "kernels/estimators.hpp"
#include "kernels/hd.hpp"

namespace sfnn {

// A path unit as e sees it. Rules that do not read the draw leave h and u alone.
template <class Real>
struct PathUnit {
  Real a;      // its input, with the bias; p = sigma(a)
  Real h = 0;  // what it drew: 1 if u <= p
  Real u = 1;  // the uniform that decided, in (0, 1]
};

// e: what multiplies G(h) of a path unit. T: the temperature of a relaxed draw.
template <class Real>
SFNN_HD Real path_weight(PathRule rule, const PathUnit<Real>& unit, Real T) {
  switch (rule) {
    case PathRule::one:
      return Real(1);
    case PathRule::sigmoid_slope: {
      const Real p = sigmoid(unit.a);
      return p * (Real(1) - p);
    }
    case PathRule::half_score: {
      const Real score = unit.h - sigmoid(unit.a);
      return (score < Real(0) ? -score : score) / Real(2);
    }
    case PathRule::gumbel_slope: {  // u = 1: its logit is infinite, and z = 0
      const Real logit = std::log(unit.u) - std::log1p(-unit.u);
      const Real z = sigmoid((unit.a - logit) / T);
      return z * (Real(1) - z) / T;
    }
  }
  return Real(0);
}

template <class Real>
struct ScoreSums {   // over the particles of one example, for one unit
  Real omega_h = 0;  // sum_m omega_m h^m
  Real h = 0;        // sum_m h^m
};

template <class Real>
SFNN_HD Real summed_score(const ScoreSums<Real>& s, Real omega_sum, Real beta, Real p, Real M) {
  return s.omega_h - beta * s.h - p * (omega_sum - M * beta);
}

}  // namespace sfnn
