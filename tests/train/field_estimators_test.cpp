// What is claimed of the estimators that are not the paper's, by sums over all that a small network
// can draw. G1's mean, which tests/train/enumeration_test.cpp compares with finite differences, is
// the derivative of E[C_hat_M].
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/hidden_grad.hpp"
#include "kernels/particle_weights.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/enumerate.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/random.hpp"

namespace sfnn {
namespace {

constexpr double kExact = 1e-11;  // sums of at most 2^18 doubles, all of order one

Vector mean_of(const NetworkSpec& spec, const Vector& params, const ReferenceBatch& batch,
               const ReferenceEstimator& estimator) {
  return enumerate_gradient(spec, params, batch, estimator).mean;
}

Vector part(const Vector& flat, const ParamSlot& slot) {
  return Vector(flat.begin() + slot.offset, flat.begin() + slot.offset + slot.size());
}

double norm(const Vector& v) {
  double sum = 0;
  for (double e : v) sum += e * e;
  return std::sqrt(sum);
}

// |v - truth| / |truth| on the weights and biases of the stochastic units.
double relative_error(const NetworkSpec& spec, const Vector& v, const Vector& truth) {
  double error = 0, length = 0;
  for (const LayerSlots& layer : ParamLayout(spec).hidden) {
    for (const ParamSlot* slot : {&layer.W_s, &layer.b_s}) {
      for (std::int64_t e = slot->offset; e < slot->offset + slot->size(); ++e) {
        error += std::pow(v[e] - truth[e], 2);
        length += std::pow(truth[e], 2);
      }
    }
  }
  return std::sqrt(error / length);
}

// --- VIMCO and RLOO

struct Case {
  NetworkSpec spec;
  std::int64_t N, M;
};

std::vector<Case> cases() {
  return {
      {network(2, {"2s", "2s"}, 3, Output::bernoulli), 2, 2},
      {network(2, {"2s", "1s"}, 3, Output::bernoulli), 2, 3},
      {network(2, {"2s", "2s"}, 2, Output::gaussian), 2, 2},
      {network(0, {"2s", "1s"}, 3, Output::softmax), 2, 3},
      {network(2, {"2s+2d", "1s+2d"}, 2, Output::bernoulli), 2, 3},
      {network(2, {"2s", "2d", "1s"}, 3, Output::softmax), 2, 2},
  };
}

std::string name(const Case& c) { return to_string(c.spec) + ", M = " + std::to_string(c.M); }

// Unbiased for E[C_hat_M] in every layer, whatever c is; which G4 is not.
TEST(FieldEstimators, VimcoIsTheDerivativeOfTheExpectedCriterion) {
  for (const Case& c : cases()) {
    const Vector params = random_params(c.spec, /*seed=*/70);
    const ReferenceBatch batch = random_batch(c.spec, c.N, c.M, /*seed=*/71);
    const Vector truth = mean_of(c.spec, params, batch, {.id = Estimator::G1});
    for (const ReferenceEstimator& vimco : {ReferenceEstimator{.id = Estimator::vimco},
                                            ReferenceEstimator{.id = Estimator::vimco, .c = 0.0},
                                            ReferenceEstimator{.id = Estimator::vimco_geometric}})
      expect_close(mean_of(c.spec, params, batch, vimco), truth, kExact, name(c));
    EXPECT_GT(relative_error(c.spec, mean_of(c.spec, params, batch, {.id = Estimator::G4}), truth),
              1e-2)
        << name(c);
  }
}

// With two particles the others' mean is the other, geometric or not.
TEST(FieldEstimators, BothVimcosAreOneWithTwoParticles) {
  const NetworkSpec spec = network(3, {"3s", "2s"}, 4, Output::bernoulli);
  const Vector params = random_params(spec, /*seed=*/72);
  const ReferenceBatch batch = random_batch(spec, /*N=*/3, /*M=*/2, /*seed=*/73);
  expect_close(reference_pass(spec, params, batch, {.id = Estimator::vimco}).gradient,
               reference_pass(spec, params, batch, {.id = Estimator::vimco_geometric}).gradient,
               kExact, "gradient");
}

// Unbiased for E[C_hat_1] however many particles there are, and so are the output's weights, which
// w_bar in the place of 1/M would spoil.
TEST(FieldEstimators, RlooIsTheDerivativeOfTheCriterionOfOneParticle) {
  for (const Case& c : cases()) {
    const Vector params = random_params(c.spec, /*seed=*/74);
    ReferenceBatch batch = random_batch(c.spec, c.N, c.M, /*seed=*/75);
    const Vector rloo = mean_of(c.spec, params, batch, {.id = Estimator::rloo});
    const Vector weighed = mean_of(c.spec, params, batch, {.id = Estimator::vimco});
    batch.M = 1;
    const Vector truth = mean_of(c.spec, params, batch, {.id = Estimator::G1});
    expect_close(rloo, truth, kExact, name(c));
    const ParamSlot V = ParamLayout(c.spec).V;
    Vector difference = part(weighed, V);
    for (std::size_t e = 0; e < difference.size(); ++e) difference[e] -= part(truth, V)[e];
    EXPECT_GT(norm(difference), 1e-3 * norm(part(truth, V))) << name(c);
  }
}

// In float, near w_bar = 1 and far from it, among equals and with a single particle.
TEST(FieldEstimators, ComparedWeightsAreExactInFloat) {
  const std::vector<std::vector<float>> rows{
      {-300, -300},          {-300, -301},       {0, -1e-3f, -40},     {-250, -280, -281, -500},
      {-100, -230, -230.5f}, {-5, -5, -5, -400}, {-90, -90, -90, -91}, {-7}};
  for (const std::vector<float>& log_w : rows) {
    ParticleRow<float> row{float(log_w.size()), 0, {}};
    for (float f : log_w) row.all.add(f);
    for (float f : log_w) row.add(f);
    const std::size_t M = log_w.size();
    for (std::size_t m = 0; m < M; ++m) {
      Vector others(log_w.begin(), log_w.end()), all = others;
      others.erase(others.begin() + std::ptrdiff_t(m));
      double mean = 0;
      for (double f : others) mean += f / double(M - 1);
      Vector replaced = all;
      replaced[m] = mean;
      const bool alone = M == 1;
      const double gain = alone ? 0 : log_sum_exp(all) - log_sum_exp(others);
      const double geometric = alone ? 0 : log_sum_exp(all) - log_sum_exp(replaced);
      const double excess = alone ? 0 : (all[m] - mean) / double(M);
      const float w_bar = std::exp(log_w[m] - row.all.max) / row.all.sum;
      const auto omega = [&](OmegaRule rule) { return omega_at(rule, row, log_w[m], w_bar); };
      // Relative, down to what is left of a log-weight of some hundreds in float.
      const auto near = [](double value) { return 2e-6 * std::abs(value) + 1e-7; };
      EXPECT_NEAR(omega(OmegaRule::gain), gain, near(gain)) << m;
      EXPECT_NEAR(omega(OmegaRule::gain_over_geometric_mean), geometric, near(geometric) + 5e-5);
      EXPECT_NEAR(omega(OmegaRule::excess), excess, near(excess) + 1e-5);
    }
  }
}

// --- DARN-1/2

// ReinMax's own form for a bit: 2 q (1 - q) - p (1 - p) / 2 with q = (h + p) / 2.
TEST(FieldEstimators, DarnIsReinMaxForBits) {
  for (const double a : {-3.0, -0.4, 0.0, 1.0, 5.0}) {
    for (const double h : {0.0, 1.0}) {
      const double p = 1 / (1 + std::exp(-a)), q = (h + p) / 2;
      EXPECT_NEAR(path_weight(PathRule::half_score, PathUnit<double>{a, h}, 1.0),
                  2 * q * (1 - q) - p * (1 - p) / 2, 1e-15);
    }
  }
}

// The mean of its weight over h is G3's.
TEST(FieldEstimators, DarnsMeanWeightIsTheSlope) {
  for (const double a : {-3.0, -0.4, 0.0, 1.0, 5.0}) {
    const auto e = [&](PathRule rule, double h) {
      return path_weight(rule, PathUnit<double>{a, h}, 1.0);
    };
    const double p = 1 / (1 + std::exp(-a));
    EXPECT_NEAR(p * e(PathRule::half_score, 1) + (1 - p) * e(PathRule::half_score, 0),
                e(PathRule::sigmoid_slope, 0), 1e-15);
  }
}

// A Gaussian's log P(y|h) is quadratic in the layer below it: with M = 1 the mean is exact there,
// and not in the layers further down. G3 is exact nowhere.
TEST(FieldEstimators, DarnIsExactBelowAGaussian) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const NetworkSpec spec = network(2, {"2s", "3s"}, 3, Output::gaussian);
    const Vector params = random_params(spec, 30 + seed);
    const ReferenceBatch batch = random_batch(spec, /*N=*/2, /*M=*/1, 40 + seed);
    const Vector truth = mean_of(spec, params, batch, {.id = Estimator::G1});
    const Vector darn = mean_of(spec, params, batch, {.id = Estimator::darn});
    const Vector G3 = mean_of(spec, params, batch, {.id = Estimator::G3});
    const ParamLayout layout(spec);
    for (const ParamSlot& slot : {layout.hidden[1].W_s, layout.hidden[1].b_s, layout.V, layout.c})
      expect_close(part(darn, slot), part(truth, slot), kExact, slot.name);
    const auto error = [&](const Vector& v, const ParamSlot& slot) {
      Vector difference = part(v, slot);
      const Vector exact = part(truth, slot);
      for (std::size_t e = 0; e < difference.size(); ++e) difference[e] -= exact[e];
      return norm(difference) / norm(exact);
    };
    EXPECT_GT(error(G3, layout.hidden[1].W_s), 1e-3);
    EXPECT_GT(error(darn, layout.hidden[0].W_s), 1e-4);
  }
}

// Not for every network, but on the whole: the error is half of G3's or less.
TEST(FieldEstimators, DarnIsNearerThanG3BelowBits) {
  double darn = 0, G3 = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const NetworkSpec spec = network(2, {"2s", "2s"}, 3, Output::bernoulli);
    const Vector params = random_params(spec, 50 + seed);
    const ReferenceBatch batch = random_batch(spec, /*N=*/1, /*M=*/2, 60 + seed);
    const Vector truth = mean_of(spec, params, batch, {.id = Estimator::G1});
    darn += relative_error(spec, mean_of(spec, params, batch, {.id = Estimator::darn}), truth);
    G3 += relative_error(spec, mean_of(spec, params, batch, {.id = Estimator::G3}), truth);
  }
  EXPECT_LT(darn, 0.5 * G3);
}

// --- straight-through Gumbel

// The relaxed draw z rounds to the bit: z >= 1/2 as u <= p. Its slope is positive and at most
// 1 / (4 T).
TEST(FieldEstimators, GumbelsRelaxedDrawRoundsToTheBit) {
  for (const double a : {-3.0, -0.4, 0.0, 1.0, 5.0}) {
    for (const double T : {0.1, 0.5, 1.0}) {
      for (int k = 1; k <= 1000; ++k) {
        const double u = k / 1000.0, p = 1 / (1 + std::exp(-a));
        const double z = 1 / (1 + std::exp(-(a - std::log(u) + std::log1p(-u)) / T));
        EXPECT_EQ(u <= p, z >= 0.5) << u;
        const double e = path_weight(PathRule::gumbel_slope, PathUnit<double>{a, 0, u}, T);
        EXPECT_NEAR(e, z * (1 - z) / T, 1e-13);
        EXPECT_GE(e, 0);
      }
    }
  }
}

// Over the u that give h, the mean of e falls to darn's weight with T, and its variance grows as
// 1 / T.
TEST(FieldEstimators, GumbelApproachesDarnAsTheTemperatureFalls) {
  constexpr int kPoints = 200000;
  for (const double a : {-2.0, 0.3, 1.5}) {
    for (const double h : {0.0, 1.0}) {
      const double p = 1 / (1 + std::exp(-a)), first = h == 1 ? 0 : p, width = h == 1 ? p : 1 - p;
      const auto moments = [&](double T) {
        double mean = 0, square = 0;
        for (int k = 0; k < kPoints; ++k) {
          const double u = first + width * (k + 0.5) / kPoints;
          const double e = path_weight(PathRule::gumbel_slope, PathUnit<double>{a, h, u}, T);
          mean += e / kPoints;
          square += e * e / kPoints;
        }
        return std::pair{mean, square - mean * mean};
      };
      const auto [cold, cold_variance] = moments(0.01);
      const auto [cool, cool_variance] = moments(0.02);
      const double darn = path_weight(PathRule::half_score, PathUnit<double>{a, h}, 1.0);
      EXPECT_NEAR(cold, darn, 0.02 * darn);
      EXPECT_NEAR(cold_variance / cool_variance, 2, 0.1);
    }
  }
}

}  // namespace
}  // namespace sfnn
