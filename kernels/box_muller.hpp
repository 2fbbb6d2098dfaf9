// Box-Muller: a pair of uniforms makes a pair of normals.
#pragma once

#include <cmath>

#include "kernels/hd.hpp"

namespace sfnn {

constexpr double kTwoPi = 6.283185307179586;

// The first normal of the pair, or the second. u lies in (0, 1].
template <class Real>
SFNN_HD Real box_muller(Real u, Real v, bool second = false) {
  const Real radius = std::sqrt(Real(-2) * std::log(u));
  const Real angle = Real(kTwoPi) * v;
  return radius * (second ? std::sin(angle) : std::cos(angle));
}

}  // namespace sfnn
