// The parts of the reference that finite differences cannot see: constants, weights, flow of G2,
// and the helpers that compare with it.
#include "tests/support/reference.hpp"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "tests/support/compare.hpp"
#include "tests/support/enumerate.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/random.hpp"

namespace sfnn {
namespace {

// A density integrates to one; the trapezium rule is exact to rounding for Gaussians this wide.
TEST(Reference, GaussianOutputIsADensity) {
  const NetworkSpec spec = network(2, {"3s"}, 1, Output::gaussian);
  const Vector params = random_params(spec, /*seed=*/1);
  ReferenceBatch batch = random_batch(spec, /*N=*/1, /*M=*/1, /*seed=*/2);
  constexpr double kStep = 0.125;
  double integral = 0;
  for (double y = -20; y <= 20; y += kStep) {
    batch.y = {y};
    integral += kStep * std::exp(exact_log_likelihood(enumerate_particle(spec, params, batch, 0)));
  }
  EXPECT_NEAR(integral, 1, 1e-12);
}

// Eq. (6), (28) straight from their definition, where exp does no harm.
TEST(Reference, CriterionAndResponsibilities) {
  const NetworkSpec spec = network(2, {"3s", "2s"}, 3, Output::softmax);
  const ReferenceBatch batch = random_batch(spec, /*N=*/2, /*M=*/4, /*seed=*/3);
  const ReferenceResult result = reference_pass(spec, random_params(spec, /*seed=*/4), batch);
  for (std::int64_t n = 0; n < 2; ++n) {
    double sum = 0;
    for (std::int64_t m = 0; m < 4; ++m) sum += std::exp(result.log_w[4 * n + m]);
    EXPECT_NEAR(result.C_hat[n], std::log(sum / 4), 1e-14);
    for (std::int64_t m = 0; m < 4; ++m)
      EXPECT_NEAR(result.w_bar[4 * n + m], std::exp(result.log_w[4 * n + m]) / sum, 1e-14);
  }
}

// P(y|h) of many pixels is zero in any floating-point format, its logarithm is not.
TEST(Reference, ManyPixelsStayFinite) {
  const NetworkSpec spec = network(2, {"3s"}, 3000, Output::bernoulli);
  const ReferenceBatch batch = random_batch(spec, /*N=*/1, /*M=*/3, /*seed=*/5);
  const ReferenceResult result = reference_pass(spec, random_params(spec, /*seed=*/6), batch);
  EXPECT_LT(result.C_hat[0], -1000);
  EXPECT_TRUE(std::isfinite(result.C_hat[0]));
  EXPECT_NEAR(result.w_bar[0] + result.w_bar[1] + result.w_bar[2], 1, 1e-12);
}

// Eq. (19): the gradient at h is passed on to a unchanged, through sampled layers and out of U.
TEST(Reference, G2PassesOnWhatArrives) {
  const NetworkSpec spec = network(2, {"3s", "2s", "2s+4d"}, 3, Output::bernoulli);
  const ParamLayout layout(spec);
  const Vector params = random_params(spec, /*seed=*/7);
  const ReferenceBatch batch = random_batch(spec, /*N=*/1, /*M=*/1, /*seed=*/8);
  const ReferenceResult result = reference_pass(spec, params, batch, {.id = Estimator::G2});
  // With one row G(b) is g_a itself.
  const auto g_times_transposed = [&](const ParamSlot& b, const ParamSlot& W, std::int64_t j) {
    double sum = 0;
    for (std::int64_t i = 0; i < W.cols; ++i)
      sum += result.gradient[b.offset + i] * params[W.offset + j * W.cols + i];
    return sum;
  };
  const auto& [first, second, third] =
      std::tie(layout.hidden[0], layout.hidden[1], layout.hidden[2]);
  for (std::int64_t j = 0; j < 2; ++j) {
    EXPECT_NEAR(result.gradient[third.b_s.offset + j], g_times_transposed(third.b_d, third.U, j),
                1e-14);
    EXPECT_NEAR(
        result.gradient[second.b_s.offset + j],
        g_times_transposed(third.b_s, third.W_s, j) + g_times_transposed(third.b_d, third.W_d, j),
        1e-14);
  }
  for (std::int64_t j = 0; j < 3; ++j)
    EXPECT_NEAR(result.gradient[first.b_s.offset + j],
                g_times_transposed(second.b_s, second.W_s, j), 1e-14);
}

// Eq. (18): E[score^2 C_hat] / E[score^2] over all rows, by hand for a unit of p = 1/2.
TEST(Reference, BaselineSums) {
  const NetworkSpec spec = network(0, {"1s"}, 1, Output::bernoulli);
  Vector params(ParamLayout(spec).size, 0.0);
  const ReferenceBatch batch{.N = 2, .M = 3, .y = {0.5, 1}, .bits = {{0, 1, 0, 1, 1, 0}}};
  const ReferenceResult result = reference_pass(spec, params, batch);
  EXPECT_NEAR(result.score2[0][0], 6 * 0.25, 1e-15);
  EXPECT_NEAR(result.score2_C_hat[0][0], 6 * 0.25 * std::log(0.5), 1e-15);
}

TEST(Reference, EmptyBatch) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const NetworkSpec spec = random_network(seed);
    const ReferenceBatch batch = random_batch(spec, /*N=*/0, /*M=*/3, seed);
    const ReferenceResult result = reference_pass(spec, random_params(spec, seed), batch);
    EXPECT_TRUE(result.C_hat.empty());
    for (double g : result.gradient) EXPECT_EQ(g, 0);
  }
}

// Draws belong to (example, particle): with more particles, or in a later tile, they stay the same.
TEST(Reference, DrawsDoNotDependOnTheBatchAround) {
  const NetworkSpec spec = network(2, {"5s", "4s+2d"}, 2, Output::bernoulli);
  const Vector params = random_params(spec, /*seed=*/9);
  const ReferenceBatch many = random_batch(spec, /*N=*/3, /*M=*/4, /*seed=*/10);
  ReferenceBatch last = single_example(spec, many, 2);
  last.M = 2;
  const LayerBits all = reference_draws(spec, params, many, /*seed=*/11, /*step=*/12);
  const LayerBits some = reference_draws(spec, params, last, /*seed=*/11, /*step=*/12, /*first=*/2);
  for (std::size_t l = 0; l < 2; ++l) {
    const std::int64_t n_s = spec.hidden[l].n_s;
    EXPECT_EQ(some[l], std::vector<std::uint8_t>(all[l].begin() + 2 * 4 * n_s,
                                                 all[l].begin() + (2 * 4 + 2) * n_s));
  }
  EXPECT_NE(all, reference_draws(spec, params, many, /*seed=*/11, /*step=*/13));
  EXPECT_NE(all, reference_draws(spec, params, many, /*seed=*/12, /*step=*/12));
}

// The gradient summed in float, row after row, lies within the computed tolerance, and an error a
// little above rounding does not.
TEST(Compare, ToleranceSeparatesRoundingFromErrors) {
  const NetworkSpec spec = network(4, {"3s+5d", "4s"}, 3, Output::bernoulli);
  const ReferenceBatch batch = random_batch(spec, /*N=*/6, /*M=*/5, /*seed=*/13);
  const ReferenceResult result = reference_pass(spec, random_params(spec, /*seed=*/14), batch);
  std::vector<float> rounded(result.gradient.begin(), result.gradient.end());
  expect_gradient_close(rounded, spec, batch, result);
  const std::int64_t at = ParamLayout(spec).hidden[0].W_d.offset;
  rounded[at] += float(1e-3 * result.gradient_magnitude[at]);
  EXPECT_NONFATAL_FAILURE(expect_gradient_close(rounded, spec, batch, result),
                          "gradient of layer1.W_d[0]");
}

TEST(Compare, NotANumberIsAMiss) {
  const Vector nan{1, std::numeric_limits<double>::quiet_NaN(), 2};
  EXPECT_NONFATAL_FAILURE(expect_close(nan, Vector{1, 1, 1}, 0.5, "v"), "v[1]");
}

}  // namespace
}  // namespace sfnn
