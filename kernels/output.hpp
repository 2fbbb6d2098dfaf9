// The output distributions, element by element: Eq. (2) (3), a Gaussian and counts.
//
// t is y itself or, for softmax, the class as a one-hot vector. The heads of an output that has
// several logits lie side by side in a row of o: all first logits, then all second ones.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "kernels/activations.hpp"
#include "kernels/hd.hpp"

namespace sfnn {

enum class Output : std::int32_t {
  softmax,
  bernoulli,
  gaussian,            // sigma is given
  gaussian_learnt,     // one sigma for all outputs, a parameter
  gaussian_each,       // one sigma per output, parameters
  gaussian_predicted,  // sigma is a second logit
  poisson,             // o is the logarithm of the rate
};

// How many parameters of its own an output distribution has.
enum class ScaleParams : std::int32_t { none, one, each };

// The table of outputs: what the rest of the program needs to know of each.
struct OutputRow {
  Output id;
  std::string_view name;      // in checkpoints
  Output family;              // what the data know of it: which targets there are
  std::string_view sigma;     // Gaussians: what net.sigma says; empty: a number, or no Gaussian
  bool class_target = false;  // y is one number, the class; else one number per output
  int logits_per_output = 1;  // columns of o that one output takes
  ScaleParams scale_params = ScaleParams::none;
};

inline constexpr std::array<OutputRow, 7> kOutputs{{
    {Output::softmax, "softmax", Output::softmax, "", /*class_target=*/true},
    {Output::bernoulli, "bernoulli", Output::bernoulli, ""},
    {Output::gaussian, "gaussian", Output::gaussian, ""},
    {Output::gaussian_learnt, "gaussian-learnt", Output::gaussian, "learnt", false, 1,
     ScaleParams::one},
    {Output::gaussian_each, "gaussian-learnt-each", Output::gaussian, "learnt-each", false, 1,
     ScaleParams::each},
    {Output::gaussian_predicted, "gaussian-predicted", Output::gaussian, "predicted", false, 2},
    {Output::poisson, "poisson", Output::poisson, ""},
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

// How many parameters the distribution has of its own.
constexpr std::int64_t scale_param_count(Output output, std::int64_t D_out) {
  switch (row_of(output).scale_params) {
    case ScaleParams::none:
      return 0;
    case ScaleParams::one:
      return 1;
    case ScaleParams::each:
      return D_out;
  }
  return 0;
}

// What an output distribution depends on beside o and c.
struct OutputScale {
  float inverse_sigma = 1, log_sigma = 0;  // gaussian: the given sigma
  const float* rho = nullptr;              // learnt sigmas: [scale_param_count]
  // Added to log P, so that it is that of the targets as their owner measures them:
  // -sum_i log(unit_i), if o and y are in these units.
  float log_jacobian = 0;
};

// --- sigma
// ----------------------------------------------------------------------------------------

// A free sigma is f + (1 - f) exp(rho): 1 at rho = 0, and never below the floor f. Without it the
// likelihood of an example that is predicted exactly has no bound, and sigma collapses.
constexpr double kSigmaFloor = 1e-3;
constexpr double kLogSigmaFloor = -6.907755278982137;  // log f
constexpr double kSigmaShift = 6.906754778648554;      // log(1 / f - 1)

template <class Real>
struct Deviation {
  Real log_sigma, inverse;  // log sigma, 1 / sigma
  Real slope;               // d log sigma / d rho; 0: there is no rho
};

// log sigma = log f + softplus(rho + shift): the form that overflows for no rho.
template <class Real>
SFNN_HD Deviation<Real> deviation_from(Real rho) {
  const Real shifted = rho + Real(kSigmaShift);
  const Real log_sigma = Real(kLogSigmaFloor) + softplus(shifted);
  return {log_sigma, std::exp(-log_sigma), sigmoid(shifted)};
}

// Of output i of D, given its row of logits o + c.
SFNN_HD Deviation<float> deviation_at(Output output, const OutputScale& scale, const float* o,
                                      const float* c, std::int64_t D, std::int64_t i) {
  switch (output) {
    case Output::gaussian_learnt:
      return deviation_from(scale.rho[0]);
    case Output::gaussian_each:
      return deviation_from(scale.rho[i]);
    case Output::gaussian_predicted:
      return deviation_from(o[D + i] + c[D + i]);
    case Output::gaussian:
    case Output::softmax:
    case Output::bernoulli:
    case Output::poisson:
      break;
  }
  return {scale.log_sigma, scale.inverse_sigma, 0.0f};
}

// --- rates
// ----------------------------------------------------------------------------------------

// rate = exp(o) up to here, beyond any count that a float holds exactly, and then a straight line
// of the same slope: finite, with an exact derivative, for every o.
constexpr double kMaxLogRate = 20;

template <class Real>
struct Rate {
  Real base, stretch;  // exp(min(o, max)) and 1 + max(o - max, 0): rate = base * stretch
  SFNN_HD Real value() const { return base * stretch; }
};

template <class Real>
SFNN_HD Rate<Real> rate_of(Real o) {
  const Real max = Real(kMaxLogRate);
  return {std::exp(o < max ? o : max), o < max ? Real(1) : Real(1) + (o - max)};
}

// log t! for a whole number t >= 0, by Stirling's series from 8 up.
template <class Real>
SFNN_HD Real log_factorial(Real t) {
  Real z = t + Real(1), product = 1;
  for (; z < Real(8); z += Real(1)) product *= z;
  const Real r = Real(1) / z, r2 = r * r;
  const Real series = r * (Real(1.0 / 12) - r2 * (Real(1.0 / 360) - r2 * Real(1.0 / 1260)));
  return (z - Real(0.5)) * std::log(z) - z + Real(0.9189385332046727) + series - std::log(product);
}

// --- likelihood
// -----------------------------------------------------------------------------------

constexpr double kLogTwoPi = 1.8378770664093453;

// One element's share of log P(y|o); for softmax, what remains is minus the row's log-sum-exp.
template <class Real>
SFNN_HD Real log_prob_at(Output output, Real o, Real t, const Deviation<Real>& deviation) {
  switch (output) {
    case Output::softmax:
      return t * o;
    case Output::bernoulli:
      return t * o - softplus(o);
    case Output::gaussian:
    case Output::gaussian_learnt:
    case Output::gaussian_each:
    case Output::gaussian_predicted: {
      const Real z = (t - o) * deviation.inverse;
      return Real(-0.5) * (z * z + Real(kLogTwoPi)) - deviation.log_sigma;
    }
    case Output::poisson: {
      const Rate<Real> rate = rate_of(o);
      const Real log_rate =
          (o < Real(kMaxLogRate) ? o : Real(kMaxLogRate)) + std::log(rate.stretch);
      return t * log_rate - rate.value() - log_factorial(t);
    }
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
    case Output::gaussian_learnt:
    case Output::gaussian_each:
    case Output::gaussian_predicted:
      return o;
    case Output::poisson:
      return rate_of(o).value();
  }
  return Real(0);
}

// d log P / d o_i of the first logit
template <class Real>
SFNN_HD Real output_score_at(Output output, Real o, Real t, Real log_sum_exp,
                             const Deviation<Real>& deviation) {
  switch (output) {
    case Output::softmax:
    case Output::bernoulli:
      return t - output_mean_at(output, o, log_sum_exp);
    case Output::gaussian:
    case Output::gaussian_learnt:
    case Output::gaussian_each:
    case Output::gaussian_predicted:
      return (t - o) * deviation.inverse * deviation.inverse;
    case Output::poisson: {
      const Rate<Real> rate = rate_of(o);
      return t / rate.stretch - rate.base;
    }
  }
  return Real(0);
}

// d log P / d rho_i of a Gaussian
template <class Real>
SFNN_HD Real scale_score_at(Real o, Real t, const Deviation<Real>& deviation) {
  const Real z = (t - o) * deviation.inverse;
  return (z * z - Real(1)) * deviation.slope;
}

// OutputRow::class_target for device code.
SFNN_HD bool has_class_target(Output output) {
  switch (output) {
    case Output::softmax:
      return true;
    case Output::bernoulli:
    case Output::gaussian:
    case Output::gaussian_learnt:
    case Output::gaussian_each:
    case Output::gaussian_predicted:
    case Output::poisson:
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
