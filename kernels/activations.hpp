// The scalar functions of the model in forms that neither overflow nor cancel, and the table of
// deterministic units.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

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

// What a deterministic unit makes of its input.
enum class Activation : std::int32_t { sigmoid, tanh, relu };

struct ActivationRow {
  Activation id;
  std::string_view suffix;  // of a layer's text: 160d, 160tanh, 160relu
  // Standard deviation of the unit's first weights, times sqrt(fan-in).
  double initial_gain;
  // Lies in 0 .. 1, so that the unit can be read as a stochastic one.
  bool is_probability;
};

// Gains: LeCun's 1, and He's sqrt(2) for units that pass on half of their input.
inline constexpr std::array<ActivationRow, 3> kActivations{{
    {Activation::sigmoid, "d", 1, true},
    {Activation::tanh, "tanh", 1, false},
    {Activation::relu, "relu", 1.4142135623730951, false},
}};

constexpr const ActivationRow& row_of(Activation a) { return kActivations[std::size_t(a)]; }

constexpr bool activations_are_in_order() {
  for (std::size_t i = 0; i < kActivations.size(); ++i)
    if (kActivations[i].id != Activation(i)) return false;
  return true;
}
static_assert(activations_are_in_order());

// d of a unit's input a. A NaN stays one.
template <class Real>
SFNN_HD Real activation_at(Activation unit, Real a) {
  switch (unit) {
    case Activation::sigmoid:
      return sigmoid(a);
    case Activation::tanh:
      return std::tanh(a);
    case Activation::relu:
      return a < Real(0) ? Real(0) : a;
  }
  return Real(0);
}

// Its derivative, by d.
template <class Real>
SFNN_HD Real slope_at(Activation unit, Real d) {
  switch (unit) {
    case Activation::sigmoid:
      return d * (Real(1) - d);
    case Activation::tanh:
      return (Real(1) - d) * (Real(1) + d);
    case Activation::relu:
      return d > Real(0) ? Real(1) : Real(0);
  }
  return Real(0);
}

}  // namespace sfnn
