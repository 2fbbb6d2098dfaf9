// What is claimed of the estimators that are not the paper's, by sums over all that a small network
// can draw. G1's mean, which tests/train/enumeration_test.cpp compares with finite differences, is
// the derivative of E[C_hat_M].
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/hidden_grad.hpp"
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
