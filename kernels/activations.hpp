// The scalar functions of the model in forms that neither overflow nor cancel.
#pragma once

#include <cmath>

#include "kernels/hd.hpp"

namespace sfnn {

// exp(-a) may overflow to infinity: 1 / inf = 0 is then the right answer.
template <class Real>
SFNN_HD Real sigmoid(Real a) {
  return Real(1) / (Real(1) + std::exp(-a));
}

// log(1 + exp(a))
template <class Real>
SFNN_HD Real softplus(Real a) {
  return (a > Real(0) ? a : Real(0)) + std::log1p(std::exp(a > Real(0) ? -a : a));
}

}  // namespace sfnn
