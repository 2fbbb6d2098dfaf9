// Statements about means and variances, checked by summing over all that a small network can draw.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "host/base/error.hpp"
#include "host/devices/registry.hpp"
#include "kernels/estimators.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/enumerate.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/random.hpp"
#include "tests/support/run_pass.hpp"

namespace sfnn {
namespace {

constexpr double kExact = 1e-11;  // sums of at most 2^18 doubles, all of order one

struct Case {
  NetworkSpec spec;
  std::int64_t N, M;
};

// 1 to 3 layers, M = 1, 2, 3; hidden bits times M within what can be enumerated quickly.
std::vector<Case> cases() {
  return {
      {network(2, {"3s"}, 2, Output::bernoulli), 3, 1},
      {network(2, {"3s"}, 3, Output::softmax), 2, 2},
      {network(2, {"3s"}, 2, Output::gaussian), 2, 3},
      {network(2, {"2s", "2s"}, 2, Output::bernoulli), 2, 1},
      {network(2, {"2s", "2s"}, 2, Output::gaussian), 2, 2},
      {network(0, {"2s", "1s"}, 2, Output::softmax), 2, 3},
      {network(2, {"2s", "1s", "2s"}, 3, Output::softmax), 3, 1},
      {network(1, {"2s", "1s", "2s"}, 2, Output::bernoulli), 2, 2},
      {network(1, {"1s", "1s", "2s"}, 2, Output::gaussian), 2, 3},
      {network(2, {"2s+2d", "1s+2d"}, 2, Output::bernoulli), 2, 3},
      {network(2, {"1n+2d", "2s"}, 2, Output::bernoulli), 2, 2},
      {network(2, {"2s", "2d", "1s"}, 2, Output::softmax), 2, 2},
      {network(2, {"2s+2relu", "1s+2tanh"}, 2, Output::bernoulli), 2, 3},
      {network(2, {"2s", "1s"}, 2, Output::gaussian_learnt), 2, 2},
      {network(2, {"2s", "1s"}, 2, Output::gaussian_each), 2, 2},
      {network(2, {"2s", "1s"}, 2, Output::gaussian_predicted), 2, 2},
      {network(2, {"2s", "1s"}, 2, Output::poisson), 2, 2},
  };
}

std::string name(const Case& c) { return to_string(c.spec) + ", M = " + std::to_string(c.M); }

double E_C_hat(const Case& c, const Vector& params, const ReferenceBatch& batch) {
  double sum = 0;
  for (std::int64_t n = 0; n < c.N; ++n)
    sum += expected_C_hat(enumerate_particle(c.spec, params, batch, n), c.M);
  return sum;
}

// P(h|x) sums to one, and so does P(y|x) over all y.
TEST(Enumeration, ProbabilitiesSumToOne) {
  for (const Case& c : cases()) {
    const bool classes = c.spec.output == Output::softmax;
    if (!classes && c.spec.output != Output::bernoulli) continue;  // too many y
    const Vector params = random_params(c.spec, /*seed=*/1);
    ReferenceBatch batch = random_batch(c.spec, /*N=*/1, /*M=*/1, /*seed=*/2);
    const std::int64_t targets = classes ? c.spec.D_out : std::int64_t(1) << c.spec.D_out;
    double P_y = 0;
    for (std::int64_t t = 0; t < targets; ++t) {
      for (std::size_t i = 0; i < batch.y.size(); ++i)
        batch.y[i] = double(classes ? t : (t >> i) & 1);
      const auto outcomes = enumerate_particle(c.spec, params, batch, 0);
      P_y += std::exp(exact_log_likelihood(outcomes));
      double P_h = 0;
      for (const Outcome& outcome : outcomes) P_h += std::exp(outcome.log_p);
      EXPECT_NEAR(P_h, 1, kExact) << name(c);
    }
    EXPECT_NEAR(P_y, 1, kExact) << name(c);
  }
}

// Diagonal weights make the network a bundle of independent chains of single units, of which P(y|x)
// is a product of 2 x 2 transition matrices.
TEST(Enumeration, LogLikelihoodOfIndependentChains) {
  const auto sigma = [](double a) { return 1 / (1 + std::exp(-a)); };
  for (const NetworkSpec& spec :
       {network(3, {"3s"}, 3, Output::bernoulli), network(3, {"3s", "3s"}, 3, Output::bernoulli),
        network(3, {"3s", "3s", "3s"}, 3, Output::bernoulli)}) {
    const ParamLayout layout(spec);
    Vector params = random_params(spec, /*seed=*/3, /*scale=*/2);
    for (const ParamSlot& slot : layout.slots()) {
      for (std::int64_t e = 0; e < slot.size() && slot.rows == 3; ++e)
        if (e / 3 != e % 3) params[slot.offset + e] = 0;
    }
    const ReferenceBatch batch = random_batch(spec, /*N=*/2, /*M=*/1, /*seed=*/4);
    for (std::int64_t n = 0; n < batch.N; ++n) {
      double log_P = 0;
      for (std::int64_t i = 0; i < 3; ++i) {
        const auto weight = [&](const ParamSlot& W) { return params[W.offset + 4 * i]; };
        const auto bias = [&](const ParamSlot& b) { return params[b.offset + i]; };
        double on = sigma(weight(layout.hidden[0].W_s) * batch.x[3 * n + i] +
                          bias(layout.hidden[0].b_s));  // P(unit = 1)
        for (std::int64_t l = 1; l < spec.depth(); ++l) {
          const double w = weight(layout.hidden[l].W_s), b = bias(layout.hidden[l].b_s);
          on = on * sigma(w + b) + (1 - on) * sigma(b);
        }
        const double y = batch.y[3 * n + i], o_0 = bias(layout.c), o_1 = o_0 + weight(layout.V);
        const auto P_y = [&](double o) {
          return std::pow(sigma(o), y) * std::pow(1 - sigma(o), 1 - y);
        };
        log_P += std::log(on * P_y(o_1) + (1 - on) * P_y(o_0));
      }
      EXPECT_NEAR(exact_log_likelihood(enumerate_particle(spec, params, batch, n)), log_P, kExact)
          << to_string(spec);
    }
  }
}

// Eq. (6): exp(C_hat_M) is unbiased for P(y|x); by Jensen E[C_hat_M] lies below C and rises with M.
TEST(Enumeration, CriterionApproachesTheLogLikelihoodFromBelow) {
  for (const Case& c : cases()) {
    const Vector params = random_params(c.spec, /*seed=*/5);
    const ReferenceBatch batch = random_batch(c.spec, c.N, c.M, /*seed=*/6);
    for (std::int64_t n = 0; n < c.N; ++n) {
      const auto outcomes = enumerate_particle(c.spec, params, batch, n);
      const double C = exact_log_likelihood(outcomes);
      const double P = expected_C_hat(outcomes, c.M, [](double C_hat) { return std::exp(C_hat); });
      EXPECT_NEAR(std::log(P), C, kExact) << name(c);
      EXPECT_LT(expected_C_hat(outcomes, 1), expected_C_hat(outcomes, 2)) << name(c);
      EXPECT_LT(expected_C_hat(outcomes, 2), C) << name(c);
    }
  }
}

// Eq. (31): taking a constant off the weights leaves the mean as it was, at every M and for every
// c.
TEST(Enumeration, G5HasTheMeanOfG4) {
  for (const Case& c : cases()) {
    const Vector params = random_params(c.spec, /*seed=*/7);
    const ReferenceBatch batch = random_batch(c.spec, c.N, c.M, /*seed=*/8);
    const Vector G4 = enumerate_gradient(c.spec, params, batch, {.id = Estimator::G4}).mean;
    for (const ReferenceEstimator& G5 : {ReferenceEstimator{.id = Estimator::G5},
                                         ReferenceEstimator{.id = Estimator::G5, .c = 0.7}})
      expect_close(enumerate_gradient(c.spec, params, batch, G5).mean, G4, kExact, name(c));
  }
}

// G1 is unbiased for the derivative of E[C_hat_M], whatever constants L_bar holds.
TEST(Enumeration, G1IsTheDerivativeOfTheExpectedCriterion) {
  constexpr double kStep = 1e-5, kTolerance = 1e-8;
  for (const Case& c : cases()) {
    const Vector params = random_params(c.spec, /*seed=*/9);
    const ReferenceBatch batch = random_batch(c.spec, c.N, c.M, /*seed=*/10);
    Random random(11);
    ReferenceEstimator G1{.id = Estimator::G1};
    for (const LayerSpec& layer : c.spec.hidden) {
      G1.L_bar.emplace_back();
      for (std::int64_t i = 0; i < layer.n_s; ++i) G1.L_bar.back().push_back(random.normal());
    }
    Vector derivative(params.size(), 0.0);
    for (const ParamSlot& slot : ParamLayout(c.spec).slots()) {
      for (std::int64_t e = slot.offset; e < slot.offset + slot.size(); ++e) {
        Vector up = params, down = params;
        up[e] += kStep;
        down[e] -= kStep;
        derivative[e] = (E_C_hat(c, up, batch) - E_C_hat(c, down, batch)) / (2 * kStep);
      }
    }
    expect_close(enumerate_gradient(c.spec, params, batch, G1).mean, derivative, kTolerance,
                 name(c));
  }
}

// G4 and G5 follow the bound with Q fixed, which is not the log-likelihood: at finite M they are
// biased for its derivative, and the bias falls as 1/M.
TEST(Enumeration, G4ApproachesTheGradientOfTheLogLikelihoodAsMGrows) {
  constexpr double kStep = 1e-5;
  const NetworkSpec spec = network(2, {"1s"}, 2, Output::bernoulli);
  const Vector params = random_params(spec, /*seed=*/12);
  ReferenceBatch batch = random_batch(spec, /*N=*/1, /*M=*/1, /*seed=*/13);
  const std::int64_t b = ParamLayout(spec).hidden[0].b_s.offset;
  const auto C = [&](double shift) {
    Vector moved = params;
    moved[b] += shift;
    return exact_log_likelihood(enumerate_particle(spec, moved, batch, 0));
  };
  const double derivative = (C(kStep) - C(-kStep)) / (2 * kStep);
  const auto bias = [&](std::int64_t M) {
    batch.M = M;
    return std::abs(enumerate_gradient(spec, params, batch, {.id = Estimator::G4}).mean[b] -
                    derivative);
  };
  const double bias_2 = bias(2), bias_4 = bias(4), bias_8 = bias(8);
  EXPECT_GT(bias_2, 1e-3);
  EXPECT_NEAR(bias_4 / bias_2, 0.5, 0.15);
  EXPECT_NEAR(bias_8 / bias_4, 0.5, 0.1);
}

// The variance of everything that P(h|x) learns from, summed over its weights and biases.
TEST(Enumeration, G5HasLessVarianceThanG4) {
  for (const Case& c : cases()) {
    if (c.M == 1) continue;  // refused by the program: G4 teaches a unit its own draw, G5 nothing
    for (std::uint64_t seed : {14, 15}) {
      const Vector params = random_params(c.spec, seed);
      const ReferenceBatch batch = random_batch(c.spec, c.N, c.M, seed);
      const auto variance = [&](Estimator id) {
        const Vector v = enumerate_gradient(c.spec, params, batch, {.id = id}).variance;
        double sum = 0;
        for (const LayerSlots& layer : ParamLayout(c.spec).hidden)
          for (const ParamSlot* slot : {&layer.W_s, &layer.b_s})
            sum = std::accumulate(v.begin() + slot->offset, v.begin() + slot->offset + slot->size(),
                                  sum);
        return sum;
      };
      EXPECT_LT(variance(Estimator::G5), variance(Estimator::G4)) << name(c) << ", seed " << seed;
    }
  }
}

// A batch is the sum of its examples: enumerated together, two of them give what each gave alone.
TEST(Enumeration, ExamplesOfABatchAddUp) {
  const NetworkSpec spec = network(2, {"1s", "1s"}, 2, Output::bernoulli);
  const Vector params = random_params(spec, /*seed=*/17);
  ReferenceBatch batch = random_batch(spec, /*N=*/2, /*M=*/2, /*seed=*/18);
  const GradientMoments apart = enumerate_gradient(spec, params, batch, {.id = Estimator::G5});
  Vector mean(params.size(), 0.0), square(params.size(), 0.0);
  for_each_assignment(spec, batch.N * batch.M, [&](const LayerBits& bits) {
    batch.bits = bits;
    const ReferenceResult result = reference_pass(spec, params, batch, {.id = Estimator::G5});
    double log_p = 0;
    for (const ReferenceParticle& particle : result.particles) log_p += particle.log_p;
    for (std::size_t e = 0; e < params.size(); ++e) {
      mean[e] += std::exp(log_p) * result.gradient[e];
      square[e] += std::exp(log_p) * result.gradient[e] * result.gradient[e];
    }
  });
  Vector variance;
  for (std::size_t e = 0; e < params.size(); ++e) variance.push_back(square[e] - mean[e] * mean[e]);
  expect_close(mean, apart.mean, kExact, "mean");
  expect_close(variance, apart.variance, kExact, "variance");
}

// The engine's draws have the probabilities that enumeration assumes: the mean of every estimator
// over many drawn batches lies within 4.5 standard errors of its enumerated mean.
TEST(Enumeration, EngineMeansOverDrawnBitsAgree) {
  constexpr int kSteps = 4000;
  constexpr double kSigmas = 4.5, kRounding = 1e-6;
  const NetworkSpec spec = network(2, {"2s", "2s+2d"}, 2, Output::bernoulli);
  const Vector params = random_params(spec, /*seed=*/19);
  const ReferenceBatch batch = random_batch(spec, /*N=*/3, /*M=*/2, /*seed=*/20);
  const auto backend = make_backend({.device = "cpu", .threads = 1});
  for (const EstimatorRow& estimator : kEstimators) {
    const Vector exact =
        enumerate_gradient(spec, params, batch, {.id = estimator.id, .mean_over_u = true}).mean;
    EngineOptions options{.pass = {.seed = 21, .estimator = estimator, .c = 0.5f}, .draw = true};
    Vector mean(params.size(), 0.0), square(params.size(), 0.0);
    for (int step = 0; step < kSteps; ++step) {
      options.step = std::uint32_t(step);
      const EnginePass result = run_pass(*backend, spec, params, batch, options);
      for (std::size_t e = 0; e < params.size(); ++e) {
        const double g = result.gradient[e];
        mean[e] += g / kSteps;
        square[e] += g * g / kSteps;
      }
    }
    expect_close(
        mean, exact,
        [&](std::size_t e) {
          return kSigmas * std::sqrt(std::abs(square[e] - mean[e] * mean[e]) / kSteps) + kRounding;
        },
        "mean of " + std::string(estimator.name));
  }
}

TEST(Enumeration, RefusesWhatIsTooLarge) {
  const NetworkSpec spec = network(2, {"10s"}, 2, Output::bernoulli);
  EXPECT_THROW(for_each_assignment(spec, /*rows=*/2, [](const LayerBits&) {}), ShapeError);
}

}  // namespace
}  // namespace sfnn
