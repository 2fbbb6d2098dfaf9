// Eq. (17) (19) (22) (30) (32): the gradient g_a of a stochastic unit's input a, one function per
// estimator.
//
// Path estimators multiply what arrives from above by an element weight. Score estimators multiply
// the score h - sigma(a) by a weight and drop what arrives from above. With a shared by the M
// particles of an example both can be summed over m before anything else:
//   path    sum_m e(a) G(h^m) = e(a) * sum_m G(h^m)
//   score   sum_m (omega_m - beta) (h^m - p)
//           = sum_m omega_m h^m - beta sum_m h^m - p (sum_m omega_m - M beta)
#pragma once

#include <cstdint>

#include "kernels/hd.hpp"

namespace sfnn {

enum class Estimator : std::int32_t { G1, G2, G3, G4, G5 };
enum class EstimatorKind { path, score };

// What multiplies G(h) in a path estimator; p = sigma(a).
template <class Real>
SFNN_HD Real path_weight(Estimator e, Real p) {
  return e == Estimator::G3 ? p * (Real(1) - p)  // Eq. (22)
                            : Real(1);           // Eq. (19): G2
}

// A score estimator's weight is omega - beta: omega belongs to the particle ...
template <class Real>
SFNN_HD Real score_omega(Estimator e, Real w_bar, Real C_hat) {
  return e == Estimator::G1 ? C_hat   // Eq. (17): L = C_hat for all M particles
                            : w_bar;  // Eq. (30), (32)
}

// ... and beta to the unit. By Eq. (31) taking it off leaves the mean as it was.
template <class Real>
SFNN_HD Real score_beta(Estimator e, Real L_bar, Real c) {
  return e == Estimator::G1 ? L_bar : e == Estimator::G5 ? c : Real(0);
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
