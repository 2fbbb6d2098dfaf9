// The output distributions' formulas in double: derivatives against central differences, sums to
// one, and what must not overflow.
#include "kernels/output.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/support/networks.hpp"

namespace sfnn {
namespace {

constexpr double kStep = 1e-5;

double derivative(const std::function<double(double)>& f, double x) {
  return (f(x + kStep) - f(x - kStep)) / (2 * kStep);
}

// A softmax row's log-sum-exp is part of log P: two classes, of which the other has logit 0.
double log_prob(Output output, double o, double t, const Deviation<double>& deviation) {
  const double lse = output == Output::softmax ? std::log1p(std::exp(o)) : 0;
  return log_prob_at(output, o, t, deviation) - lse;
}

class EveryOutput : public testing::TestWithParam<Output> {};
INSTANTIATE_TEST_SUITE_P(Outputs, EveryOutput, every_output(), output_name);

// Around kMaxLogRate as well, where the rate turns into a line.
TEST_P(EveryOutput, ScoreIsTheDerivative) {
  for (const double rho : {-9.0, -2.0, 0.0, 3.0}) {
    const Deviation<double> deviation = deviation_from(rho);
    for (const double o : {-3.0, 0.25, 4.0, 19.9, 20.5, 30.0}) {
      for (const double t : {0.0, 1.0}) {
        const double lse = GetParam() == Output::softmax ? std::log1p(std::exp(o)) : 0;
        const double score = output_score_at(GetParam(), o, t, lse, deviation);
        const auto log_P = [&](double x) { return log_prob(GetParam(), x, t, deviation); };
        EXPECT_NEAR(score, derivative(log_P, o), 1e-9 * (1 + std::abs(log_P(o)) / kStep * 1e-5))
            << o << " " << t << " " << rho;
      }
    }
  }
}

TEST(Sigma, ScoreIsTheDerivativeByRho) {
  for (const double rho : {-12.0, -6.0, -1.0, 0.0, 2.0, 9.0}) {
    for (const double residual : {0.0, 0.01, 1.0, 5.0}) {
      const auto log_P = [&](double x) {
        return log_prob_at(Output::gaussian_learnt, 0.0, residual, deviation_from(x));
      };
      EXPECT_NEAR(scale_score_at(0.0, residual, deviation_from(rho)), derivative(log_P, rho),
                  1e-9 * (1 + std::abs(log_P(rho))))
          << rho << " " << residual;
    }
  }
}

TEST(Sigma, BeginsAtOneAndHasAFloor) {
  const auto sigma = [](double rho) { return std::exp(deviation_from(rho).log_sigma); };
  EXPECT_NEAR(sigma(0), 1, 1e-12);
  for (const double rho : {-3.0, 0.5, 4.0})
    EXPECT_NEAR(sigma(rho), kSigmaFloor + (1 - kSigmaFloor) * std::exp(rho), 1e-12 * sigma(rho));
  EXPECT_NEAR(sigma(-1e4), kSigmaFloor, 1e-15);
  for (const float rho : {-1e30f, -200.0f, 200.0f, 1e4f}) {
    const Deviation<float> deviation = deviation_from(rho);
    EXPECT_TRUE(std::isfinite(deviation.log_sigma) && std::isfinite(deviation.inverse)) << rho;
    EXPECT_TRUE(deviation.slope >= 0 && deviation.slope <= 1) << rho;
  }
}

TEST(Sigma, AGaussianIsADensity) {
  for (const double rho : {-7.0, 0.0, 2.0}) {
    const Deviation<double> deviation = deviation_from(rho);
    const double step = std::exp(deviation.log_sigma) / 8;
    double integral = 0;
    for (int k = -100; k <= 100; ++k)
      integral +=
          step * std::exp(log_prob_at(Output::gaussian_each, 0.5, 0.5 + k * step, deviation));
    EXPECT_NEAR(integral, 1, 1e-12);
  }
}

TEST(Poisson, ProbabilitiesSumToOneAndHaveTheirMean) {
  for (const double o : {-4.0, 0.0, 2.5, 5.0}) {
    double sum = 0, mean = 0;
    for (int t = 0; t < 400; ++t) {
      const double p = std::exp(log_prob_at(Output::poisson, o, double(t), {0, 1, 0}));
      sum += p;
      mean += p * t;
    }
    EXPECT_NEAR(sum, 1, 1e-9);
    EXPECT_NEAR(mean, std::exp(o), 1e-8 * std::exp(o));
    EXPECT_DOUBLE_EQ(output_mean_at(Output::poisson, o, 0.0), std::exp(o));
  }
}

TEST(Poisson, LogFactorial) {
  for (const double t : {0.0, 1.0, 2.0, 6.0, 7.0, 8.0, 100.0, 16777216.0}) {
    EXPECT_NEAR(log_factorial(t), std::lgamma(t + 1), 1e-9 + 1e-14 * std::lgamma(t + 1)) << t;
    EXPECT_NEAR(log_factorial(float(t)), std::lgamma(t + 1), 4e-6 + 4e-7 * std::lgamma(t + 1)) << t;
  }
}

// The largest counts and logits that floats can bring.
TEST(Poisson, NothingOverflows) {
  for (const float o : {-1e30f, -200.0f, 88.0f, 1e4f}) {
    for (const float t : {0.0f, 16777216.0f}) {
      EXPECT_TRUE(std::isfinite(log_prob_at(Output::poisson, o, t, {0, 1, 0}))) << o << " " << t;
      EXPECT_TRUE(std::isfinite(output_score_at(Output::poisson, o, t, 0.0f, {0, 1, 0})));
      EXPECT_TRUE(std::isfinite(output_mean_at(Output::poisson, o, 0.0f)));
    }
  }
}

}  // namespace
}  // namespace sfnn
