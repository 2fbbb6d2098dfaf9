#include "tests/support/reference_outputs.hpp"

#include <algorithm>
#include <cmath>

namespace sfnn {

double reference_sigmoid(double a) { return 1 / (1 + std::exp(-a)); }

double reference_log_sigmoid(double a) {
  return a < 0 ? a - std::log1p(std::exp(a)) : -std::log1p(std::exp(-a));
}

namespace {

bool is_class(Output output) {
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

// What log P of one output and its derivatives are made of. In logarithms, for training that
// diverges soon has a sigma that no double holds.
struct SigmaOf {
  double log = 0, inverse = 1;  // log sigma, 1 / sigma
  double by_rho = 0;            // d log sigma / d rho
};

SigmaOf sigma_of(const ReferenceModel& model, const Vector& o, std::size_t i) {
  const auto free = [](double rho) {  // sigma = 0.001 + 0.999 exp(rho) = 0.001 (1 + exp(above))
    const double above = rho + std::log(999);
    const double log_sigma = std::log(0.001) - reference_log_sigmoid(-above);
    return SigmaOf{log_sigma, std::exp(-log_sigma), reference_sigmoid(above)};
  };
  const std::size_t rho = std::size_t(model.layout.rho.offset);
  switch (model.spec.output) {
    case Output::softmax:
    case Output::bernoulli:
    case Output::poisson:
      break;
    case Output::gaussian:
      return {std::log(model.spec.sigma), 1 / model.spec.sigma, 0};
    case Output::gaussian_learnt:
      return free(model.params[rho]);
    case Output::gaussian_each:
      return free(model.params[rho + i]);
    case Output::gaussian_predicted:
      return free(o[o.size() / 2 + i]);
  }
  return {};
}

// The rate of a count: exp(o), from o = 20 on a line of the same slope.
struct RateOf {
  double value, slope;
};

RateOf rate_of(double o) {
  const double base = std::exp(std::min(o, 20.0));
  return {base * (1 + std::max(o - 20, 0.0)), base};
}

}  // namespace

std::int64_t reference_target_width(const NetworkSpec& spec) {
  return is_class(spec.output) ? 1 : spec.D_out;
}

double reference_log_prob(const ReferenceModel& model, const Vector& o, const Vector& y) {
  const auto D = std::size_t(model.spec.D_out);
  double sum = 0;
  switch (model.spec.output) {
    case Output::softmax:
      return o[std::size_t(y[0])] - log_sum_exp(o);
    case Output::bernoulli:
      for (std::size_t i = 0; i < D; ++i)
        sum += y[i] * reference_log_sigmoid(o[i]) + (1 - y[i]) * reference_log_sigmoid(-o[i]);
      break;
    case Output::gaussian:
    case Output::gaussian_learnt:
    case Output::gaussian_each:
    case Output::gaussian_predicted:
      for (std::size_t i = 0; i < D; ++i) {
        const SigmaOf sigma = sigma_of(model, o, i);
        sum -=
            0.5 * std::pow((y[i] - o[i]) * sigma.inverse, 2) + 0.5 * std::log(2 * M_PI) + sigma.log;
      }
      break;
    case Output::poisson:
      for (std::size_t i = 0; i < D; ++i)
        sum += y[i] * std::log(rate_of(o[i]).value) - rate_of(o[i]).value - std::lgamma(y[i] + 1);
      break;
  }
  return sum;
}

OutputScores reference_output_scores(const ReferenceModel& model, const Vector& o,
                                     const Vector& y) {
  const auto D = std::size_t(model.spec.D_out);
  const auto rhos = std::size_t(model.layout.rho.size());
  OutputScores result{Vector(o.size()), Vector(o.size()), Vector(rhos), Vector(rhos)};
  for (std::size_t i = 0; i < D; ++i) {
    const double t = is_class(model.spec.output) ? double(std::size_t(y[0]) == i) : y[i];
    const SigmaOf sigma = sigma_of(model, o, i);
    const auto add = [&](double mean) {
      result.o[i] = (t - mean) * sigma.inverse * sigma.inverse;
      result.o_size[i] = (std::abs(t) + std::abs(mean)) * sigma.inverse * sigma.inverse;
    };
    // d/d rho of -z^2 / 2 - log sigma
    const auto add_rho = [&](double& score, double& size) {
      const double z = (t - o[i]) * sigma.inverse;
      score += (z * z - 1) * sigma.by_rho;
      size += (std::pow((std::abs(t) + std::abs(o[i])) * sigma.inverse, 2) + 1) * sigma.by_rho;
    };
    switch (model.spec.output) {
      case Output::softmax:
        add(std::exp(o[i] - log_sum_exp(o)));
        break;
      case Output::bernoulli:
        add(reference_sigmoid(o[i]));
        break;
      case Output::poisson: {
        const auto [rate, slope] = rate_of(o[i]);
        result.o[i] = (t / rate - 1) * slope;
        result.o_size[i] = (t / rate + 1) * slope;
        break;
      }
      case Output::gaussian:
        add(o[i]);
        break;
      case Output::gaussian_learnt:
        add(o[i]);
        add_rho(result.rho[0], result.rho_size[0]);
        break;
      case Output::gaussian_each:
        add(o[i]);
        add_rho(result.rho[i], result.rho_size[i]);
        break;
      case Output::gaussian_predicted:
        add(o[i]);
        add_rho(result.o[D + i], result.o_size[D + i]);
        break;
    }
  }
  return result;
}

}  // namespace sfnn
