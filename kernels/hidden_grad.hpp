// The gradient g_a of a stochastic unit's input a, one function per rule of kernels/estimators.hpp.
//
// Path estimators multiply what arrives from above by an element weight. Score estimators multiply
// the score h - sigma(a) by a weight and drop what arrives from above. With a shared by the M
// particles of an example both can be summed over m before anything else:
//   path    sum_m e(a) G(h^m) = e(a) * sum_m G(h^m)
//   score   sum_m (omega_m - beta) (h^m - p)
//           = sum_m omega_m h^m - beta sum_m h^m - p (sum_m omega_m - M beta)
#pragma once

#include "kernels/estimators.hpp"
#include "kernels/hd.hpp"

namespace sfnn {

// e(p): what multiplies G(h) of a path unit; p = sigma(a).
template <class Real>
SFNN_HD Real path_weight(PathRule rule, Real p) {
  switch (rule) {
    case PathRule::one:
      return Real(1);
    case PathRule::sigmoid_slope:
      return p * (Real(1) - p);
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
