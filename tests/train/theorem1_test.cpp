// Theorem 1: with one particle a hidden unit never prefers to be random; with more it may.
//
// The paper's toy: x, h, y are bits and P(y|h) is fixed at 0.9 if y = h, else 0.1. Only P(h|x) is
// free.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "host/devices/registry.hpp"
#include "host/train/trainer.hpp"
#include "tests/support/enumerate.hpp"
#include "tests/support/networks.hpp"

namespace sfnn {
namespace {

double sigma(double a) { return 1 / (1 + std::exp(-a)); }
double logit(double p) { return std::log(p / (1 - p)); }

// The toy's parameters: P(h = 1 | x) = sigma(W x + b).
Vector toy_params(const NetworkSpec& spec, double W, double b) {
  const ParamLayout layout(spec);
  Vector params(layout.size, 0.0);
  if (layout.hidden[0].W_s.size() > 0) params[layout.hidden[0].W_s.offset] = W;
  params[layout.hidden[0].b_s.offset] = b;
  params[layout.V.offset] = logit(0.9) - logit(0.1);
  params[layout.c.offset] = logit(0.1);
  return params;
}

// E[C] under P_d(x) = P_d(y|x) = 1/2, Eq. (12).
double expected_C(double W, double b) {
  const NetworkSpec spec = network(1, {"1s"}, 1, Output::bernoulli);
  const ReferenceBatch all{.N = 4, .M = 1, .x = {0, 0, 1, 1}, .y = {0, 1, 0, 1}};
  double sum = 0;
  for (std::int64_t n = 0; n < all.N; ++n)
    sum += exact_log_likelihood(enumerate_particle(spec, toy_params(spec, W, b), all, n));
  return sum / double(all.N);
}

TEST(Theorem1, ARandomUnitBeatsEveryDeterministicOne) {
  constexpr double kCertain = 800;  // sigma(800) = 1 and sigma(-800) = 0 in double precision
  const double best = expected_C(0, 0);
  EXPECT_NEAR(best, -0.693, 5e-4);
  EXPECT_NEAR(best / std::log(10.0), -0.30, 5e-3);  // the paper's figures are logs to base 10
  for (const auto& [W, b] :
       {std::pair{0.0, kCertain}, std::pair{0.0, -kCertain}, std::pair{2 * kCertain, -kCertain},
        std::pair{-2 * kCertain, kCertain}}) {
    EXPECT_NEAR(expected_C(W, b), -1.204, 5e-4);
    EXPECT_NEAR(expected_C(W, b) / std::log(10.0), -0.52, 5e-3);
  }
  for (double p : {0.1, 0.3, 0.45, 0.55, 0.7, 0.9}) EXPECT_LT(expected_C(0, logit(p)), best);
}

// From here on the data want y = 1 in 7 of 10 cases and there is no input: b is all there is to
// learn. The log-likelihood is greatest if 0.1 + 0.8 p = 0.7, at p = 0.75.
const NetworkSpec kUnit = network(0, {"1s"}, 1, Output::bernoulli);
const std::int64_t kBias = ParamLayout(kUnit).hidden[0].b_s.offset;

double binomial(std::int64_t M, std::int64_t ones, double p) {
  return std::exp(std::lgamma(double(M + 1)) - std::lgamma(double(ones + 1)) -
                  std::lgamma(double(M - ones + 1)) + double(ones) * std::log(p) +
                  double(M - ones) * std::log1p(-p));
}

// Per example. The particles are exchangeable, so that the number of ones among them is all that
// matters.
double expected_gradient(Estimator id, std::int64_t M, double p) {
  const Vector params = toy_params(kUnit, 0, logit(p));
  double expectation = 0;
  for (std::int64_t ones = 0; ones <= M; ++ones) {
    const auto gradient = [&](double y) {
      ReferenceBatch example{.N = 1, .M = M, .y = {y}, .bits = {{}}};
      for (std::int64_t m = 0; m < M; ++m) example.bits[0].push_back(m < ones);
      return reference_pass(kUnit, params, example, {.id = id}).gradient[kBias];
    };
    expectation += binomial(M, ones, p) * (0.7 * gradient(1) + 0.3 * gradient(0));
  }
  return expectation;
}

// The p at which the expected gradient changes from up to down.
double rest_point(Estimator id, std::int64_t M) {
  double low = 0.01, high = 0.99;
  while (high - low > 1e-6) {
    const double middle = (low + high) / 2;
    (expected_gradient(id, M, middle) > 0 ? low : high) = middle;
  }
  return (low + high) / 2;
}

TEST(Theorem1, ExpectedGradientsOfOneParticleAlwaysPointToCertainty) {
  // E[G1] = sigma'(b) * (f(1) - f(0)), and f(1) - f(0) = 0.7 log 9 - 0.3 log 9.
  for (double p : {0.01, 0.25, 0.5, 0.75, 0.99, 0.9999})
    EXPECT_NEAR(expected_gradient(Estimator::G1, 1, p), p * (1 - p) * 0.4 * std::log(9.0), 1e-12);
}

TEST(Theorem1, ExpectedGradientsOfTwentyParticlesRestAtARandomUnit) {
  EXPECT_NEAR(rest_point(Estimator::G1, 20), 0.748, 5e-4);
  EXPECT_NEAR(rest_point(Estimator::G4, 20), 0.764, 5e-4);
  EXPECT_NEAR(rest_point(Estimator::G5, 20), 0.764, 5e-4);
}

// Trains b with the engine from p = 1/2, V and c put back after each step, and gives back the mean
// of p over the last quarter.
double trained_p(Estimator id, std::int64_t M, std::int64_t steps, double learning_rate) {
  constexpr std::int64_t kExamples = 100;
  std::vector<float> y(kExamples, 0.0f);
  std::fill_n(y.begin(), kExamples * 7 / 10, 1.0f);
  DataSet data{.name = "seven of ten", .D_in = kUnit.D_in, .D_out = kUnit.D_out};
  data.train = {.count = kExamples,
                .x = {.values = std::vector<float>{}, .cols = 0},
                .y = {.values = y, .cols = 1}};

  const auto backend = make_backend({.device = "cpu", .threads = 1});
  const TrainOptions options{.estimator = id,
                             .particles = M,
                             .batch = kExamples,
                             .epochs = steps,  // one step each
                             .learning_rate = learning_rate,
                             .warmup_epochs = 0};
  Trainer trainer(*backend, kUnit, options, data);
  const Vector start = toy_params(kUnit, 0, 0);
  trainer.set_params(std::vector<float>(start.begin(), start.end()));

  double sum_p = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    trainer.train_step();
    TrainState state = trainer.state();
    const float b = state.P().array("params")[kBias], velocity = state.P().array("velocity")[kBias];
    state.P().array("params").assign(start.begin(), start.end());
    state.P().array("velocity").assign(start.size(), 0.0f);
    state.P().array("params")[kBias] = b;
    state.P().array("velocity")[kBias] = velocity;
    trainer.restore(state);
    if (step >= steps - steps / 4) sum_p += sigma(b);
  }
  return sum_p / double(steps / 4);
}

TEST(Theorem1, TrainingWithOneParticleEndsInCertainty) {
  EXPECT_GT(trained_p(Estimator::G1, /*M=*/1, /*steps=*/500, /*learning_rate=*/0.1), 0.99);
}

// Over other seeds the results spread by 0.010 (G1) and 0.001 (G5).
TEST(Theorem1, TrainingWithTwentyParticlesComesToRest) {
  EXPECT_NEAR(trained_p(Estimator::G1, /*M=*/20, /*steps=*/500, /*learning_rate=*/0.03), 0.748,
              0.05);
  EXPECT_NEAR(trained_p(Estimator::G5, /*M=*/20, /*steps=*/500, /*learning_rate=*/0.03), 0.764,
              0.05);
}

}  // namespace
}  // namespace sfnn
