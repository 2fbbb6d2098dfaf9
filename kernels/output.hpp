// Eq. (2) (3) and the unit-variance Gaussian: the output distributions, element by element.
//
// For all three d log P / d o = t - E[y | o], where t is y itself or, for softmax, the class as a
// one-hot vector.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "kernels/activations.hpp"
#include "kernels/hd.hpp"

namespace sfnn {

enum class Output : std::int32_t { softmax, bernoulli, gaussian };

// The table of outputs: what the rest of the program needs to know of each.
struct OutputRow {
  Output id;
  std::string_view name;      // in configs and checkpoints
  bool class_target;          // y is one number, the class; else one number per output
  int logits_per_output = 1;  // columns of o that one output takes
};

inline constexpr std::array<OutputRow, 3> kOutputs{{
    {Output::softmax, "softmax", /*class_target=*/true},
    {Output::bernoulli, "bernoulli", /*class_target=*/false},
    {Output::gaussian, "gaussian", /*class_target=*/false},
}};

constexpr const OutputRow& row_of(Output output) { return kOutputs[std::size_t(output)]; }

constexpr std::string_view to_string(Output output) { return row_of(output).name; }

inline std::optional<Output> parse_output(std::string_view name) {  // none: there is no such output
  for (const OutputRow& row : kOutputs)
    if (row.name == name) return row.id;
  return std::nullopt;
}

// How many numbers a target y has, for D_out outputs.
constexpr std::int64_t target_width(Output output, std::int64_t D_out) {
  return row_of(output).class_target ? 1 : D_out;
}

constexpr double kLogTwoPi = 1.8378770664093453;

// One element's share of log P(y|o); for softmax, what remains is minus the row's log-sum-exp.
template <class Real>
SFNN_HD Real log_prob_at(Output output, Real o, Real t) {
  switch (output) {
    case Output::softmax:
      return t * o;
    case Output::bernoulli:
      return t * o - softplus(o);
    case Output::gaussian:
      return Real(-0.5) * ((t - o) * (t - o) + Real(kLogTwoPi));
  }
  return Real(0);
}

// E[y_i | o]; only softmax needs the row's log-sum-exp.
template <class Real>
SFNN_HD Real output_mean_at(Output output, Real o, Real log_sum_exp) {
  switch (output) {
    case Output::softmax:
      return std::exp(o - log_sum_exp);
    case Output::bernoulli:
      return sigmoid(o);
    case Output::gaussian:
      return o;
  }
  return Real(0);
}

// OutputRow::class_target for device code.
SFNN_HD bool has_class_target(Output output) {
  switch (output) {
    case Output::softmax:
      return true;
    case Output::bernoulli:
    case Output::gaussian:
      return false;
  }
  return false;
}

// t_i of a row of y: a class is stored alone.
template <class Real>
SFNN_HD Real target_at(Output output, const Real* y, std::int64_t i) {
  return has_class_target(output) ? Real(std::int64_t(y[0]) == i) : y[i];
}

}  // namespace sfnn
