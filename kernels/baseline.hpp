// Eq. (18): L_bar_i = E[score^2 L] / E[score^2], two moving averages per unit.
#pragma once

#include "kernels/hd.hpp"

namespace sfnn {

// A unit that is (almost) no longer random needs no baseline: its score is (almost) zero.
constexpr double kLeastScore2 = 1e-8;

template <class Real>
SFNN_HD Real baseline_at(Real score2, Real score2_L) {
  return score2 > Real(kLeastScore2) ? score2_L / score2 : Real(0);
}

// The first step starts the average; later ones move it.
template <class Real>
SFNN_HD Real moved_average(bool first, Real average, Real value, Real decay) {
  return first ? value : decay * average + (Real(1) - decay) * value;
}

}  // namespace sfnn
