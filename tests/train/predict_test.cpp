// Predictions and the randomness of hidden units, against the engine's other paths and by hand.
#include "host/train/predict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "host/base/error.hpp"
#include "host/devices/registry.hpp"
#include "host/train/activity.hpp"
#include "host/train/evaluate.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/run_pass.hpp"
#include "tests/support/small_data.hpp"
#include "tests/support/threads.hpp"

namespace sfnn {
namespace {

struct Fixture {
  explicit Fixture(const NetworkSpec& network_spec, std::int64_t count = 40,
                   int threads = test_threads(2))
      : spec(network_spec),
        backend(make_backend({.device = "cpu", .threads = threads})),
        params(initial_params(spec, 3, 2.0)),
        inputs(inputs_only(spec, small_examples(count, spec.D_in, spec.D_out, spec.output, 5).x,
                           count)) {}

  Model model() const { return {*backend, spec, params, units}; }
  std::vector<float> means(std::int64_t M) { return mean_outputs(model(), inputs, {M, 8}); }
  std::vector<LayerActivity> activity() {
    return hidden_activity(model(), inputs, {.examples = inputs.count, .particles = 5, .seed = 8});
  }
  std::span<float> slot(const ParamSlot& s) {
    return std::span(params).subspan(s.offset, s.size());
  }

  NetworkSpec spec;
  std::unique_ptr<Backend> backend;
  std::vector<float> params;
  Units units;
  Examples inputs;
};

class PredictOutputs : public testing::TestWithParam<Output> {};

TEST_P(PredictOutputs, TheMeanIsThatOfTheSamples) {
  Fixture f(network(6, {"9s", "5s+7d"}, 4, GetParam()));
  f.units.x_mean = {0.5f, -1, 0, 2, 0, 0.25f};
  const std::int64_t M = 70;  // more than one chunk
  const std::vector<float> actual = f.means(M);
  std::vector<std::int32_t> rows(f.inputs.count);
  std::iota(rows.begin(), rows.end(), 0);
  const std::vector<float> samples = sample_outputs(f.model(), f.inputs, rows, M, 8).means;
  ASSERT_EQ(actual.size(), std::size_t(f.inputs.count * 4));
  for (std::int64_t n = 0; n < f.inputs.count; ++n) {
    for (std::int64_t i = 0; i < 4; ++i) {
      double sum = 0;
      for (std::int64_t m = 0; m < M; ++m) sum += samples[(n * M + m) * 4 + i];
      // M terms in float, below 4 each unless they are rates
      EXPECT_NEAR(actual[n * 4 + i], sum / double(M), 1e-5 * (1 + std::abs(sum) / double(M)))
          << n << " " << i;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Outputs, PredictOutputs, every_output(), output_name);

TEST(Predict, ThreadsAndCountDoNotMatter) {
  const NetworkSpec spec = network(6, {"9s"}, 4, Output::bernoulli);
  Fixture one(spec, 40, 1), many(spec, 40, 3), few(spec, 7, 1);
  const std::vector<float> expected = one.means(30);
  EXPECT_EQ(many.means(30), expected);
  EXPECT_EQ(few.means(30), std::vector<float>(expected.begin(), expected.begin() + 7 * 4));
}

TEST(Predict, AWidthThatDoesNotFitIsRefused) {
  const NetworkSpec spec = network(6, {"9s"}, 4, Output::bernoulli);
  EXPECT_THROW(inputs_only(spec, {std::vector<float>(10), 5}, 2), ShapeError);
}

TEST(DrawOutputs, FollowTheirDistribution) {
  constexpr std::int64_t kDraws = 20000;
  const auto repeated = [](std::vector<float> row) {
    std::vector<float> means;
    for (std::int64_t m = 0; m < kDraws; ++m) means.insert(means.end(), row.begin(), row.end());
    return means;
  };
  // 4.5 sigma of a mean of bits: 4.5 * sqrt(1/4 / 20000) = 0.016
  const auto bits = draw_outputs(Output::bernoulli, {repeated({0, 0.3f, 1}), {}}, 1, kDraws, 4);
  double sums[3] = {};
  for (std::size_t e = 0; e < bits.size(); ++e) {
    ASSERT_TRUE(bits[e] == 0 || bits[e] == 1);
    sums[e % 3] += bits[e];
  }
  EXPECT_EQ(sums[0], 0);
  EXPECT_NEAR(sums[1] / kDraws, 0.3, 0.016);
  EXPECT_EQ(sums[2], kDraws);

  const auto classes =
      draw_outputs(Output::softmax, {repeated({0.2f, 0, 0.7f, 0.1f}), {}}, 1, kDraws, 4);
  ASSERT_EQ(classes.size(), std::size_t(kDraws));
  double seen[4] = {};
  for (const float k : classes) ++seen[int(k)];
  EXPECT_NEAR(seen[0] / kDraws, 0.2, 0.016);
  EXPECT_EQ(seen[1], 0);
  EXPECT_NEAR(seen[2] / kDraws, 0.7, 0.016);

  const SampledOutputs two{repeated({5, -1}), repeated({1, 0.01f})};
  const auto values = draw_outputs(Output::gaussian, two, 1, kDraws, 4);
  double sum = 0, squares = 0;
  for (std::size_t e = 0; e < values.size(); e += 2) {
    sum += values[e] - 5;
    squares += std::pow(values[e] - 5, 2);
  }
  // 4.5 / sqrt(20000) = 0.032 for the mean, sqrt(2) times as much for the variance
  EXPECT_NEAR(sum / kDraws, 0, 0.032);
  EXPECT_NEAR(squares / kDraws, 1, 0.045);
  double narrow = 0;
  for (std::size_t e = 1; e < values.size(); e += 2) narrow += std::pow(values[e] + 1, 2);
  EXPECT_NEAR(narrow / kDraws, 1e-4, 1e-4 * 0.045);
  EXPECT_EQ(values, draw_outputs(Output::gaussian, two, 1, kDraws, 4));
  EXPECT_NE(values, draw_outputs(Output::gaussian, two, 1, kDraws, 5));
}

// Mean and variance of a count are its rate; small rates by each probability, too.
TEST(DrawOutputs, CountsArePoisson) {
  constexpr std::int64_t kDraws = 20000;
  for (const float rate : {0.0f, 0.3f, 4.0f, 40.0f, 12345.5f}) {
    SCOPED_TRACE(rate);
    const auto counts =
        draw_outputs(Output::poisson, {std::vector<float>(kDraws, rate), {}}, 1, kDraws, 4);
    double sum = 0, squares = 0, zeros = 0, fours = 0;
    for (const float k : counts) {
      ASSERT_TRUE(k >= 0 && k == std::floor(k));
      sum += k;
      squares += std::pow(k - double(rate), 2);
      zeros += k == 0;
      fours += k == 4;
    }
    const double sigma = std::sqrt(rate / double(kDraws));
    EXPECT_NEAR(sum / kDraws, rate, 4.5 * sigma);
    // The fourth central moment is rate + 3 rate^2.
    EXPECT_NEAR(squares / kDraws, rate,
                4.5 * std::sqrt((rate + 2 * rate * rate) / double(kDraws)) + 1e-9);
    const auto P = [&](double k) {
      return std::exp(k * std::log(rate) - rate - std::lgamma(k + 1));
    };
    if (rate > 0) {
      EXPECT_NEAR(zeros / kDraws, P(0), 0.016);
      EXPECT_NEAR(fours / kDraws, P(4), 0.016);
    }
  }
}

// Rows of equal inputs get equal predictions if all rows draw alike, and others if each draws its
// own.
TEST(Predict, DrawsMayBeTheSameForEveryRow) {
  Fixture f(network(6, {"9s", "5s+7d"}, 4, Output::bernoulli), 10);
  auto& x = std::get<std::vector<float>>(f.inputs.x.values);
  for (std::size_t e = 6; e < x.size(); ++e) x[e] = x[e - 6];
  const auto rows_are_equal = [&](bool same_draws) {
    const auto means =
        mean_outputs(f.model(), f.inputs, {.particles = 7, .seed = 8, .same_draws = same_draws});
    return std::equal(means.begin() + 4, means.end(), means.begin());
  };
  EXPECT_TRUE(rows_are_equal(true));
  EXPECT_FALSE(rows_are_equal(false));
}

TEST(Activity, CoinsAndConstants) {
  Fixture f(network(6, {"4s", "2s"}, 3, Output::bernoulli));
  const ParamLayout layout(f.spec);
  std::fill(f.params.begin(), f.params.end(), 0.0f);
  std::vector<LayerActivity> coins = f.activity();
  ASSERT_EQ(coins.size(), 2u);
  for (const LayerActivity& layer : coins) {
    EXPECT_EQ(layer.entropy, 1);
    EXPECT_EQ(layer.decided, 0);
    EXPECT_EQ(layer.stuck, 0);
    EXPECT_EQ(layer.histogram[LayerActivity::kBins / 2], 1);
  }
  EXPECT_EQ(coins[0].layer, 1);
  EXPECT_EQ(coins[0].units, 4);

  // One unit of four always on, one that follows the sign of x_0: decided, but not stuck.
  f.slot(layout.hidden[0].b_s)[0] = 30;
  f.slot(layout.hidden[0].W_s)[1] = 1e4f;  // x_0 to unit 1
  const LayerActivity layer = f.activity()[0];
  EXPECT_NEAR(layer.decided, 0.5, 1e-9);
  EXPECT_NEAR(layer.entropy, 0.5, 1e-6);
  EXPECT_EQ(layer.stuck, 0.25);
  const double low = layer.histogram.front(), high = layer.histogram.back();
  EXPECT_NEAR(low + high, 0.5, 1e-9);
  EXPECT_GT(low, 0.05);
  EXPECT_GT(high, 0.25 + 0.05);
}

TEST(Activity, SecondLayerSeesTheParticlesOfTheFirst) {
  // The second layer's unit copies a coin of the first: p is 0 or 1, evenly, over the particles.
  Fixture f(network(6, {"1s", "1s"}, 3, Output::bernoulli), 500);
  const ParamLayout layout(f.spec);
  std::fill(f.params.begin(), f.params.end(), 0.0f);
  f.slot(layout.hidden[1].W_s)[0] = 60;
  f.slot(layout.hidden[1].b_s)[0] = -30;
  const LayerActivity layer = f.activity()[1];
  EXPECT_NEAR(layer.decided, 1, 1e-9);
  EXPECT_EQ(layer.stuck, 0);
  // 2500 coins: 4.5 sigma = 4.5 * 0.5 / 50 = 0.045
  EXPECT_NEAR(layer.histogram.back(), 0.5, 0.045);
  EXPECT_NEAR(layer.histogram.front() + layer.histogram.back(), 1, 1e-9);
}

TEST(Activity, OnlyUnitsWithWeightsAreLookedAt) {
  EXPECT_TRUE(Fixture(network(6, {"4d"}, 3, Output::bernoulli)).activity().empty());
  EXPECT_TRUE(Fixture(network(6, {"2n+4d"}, 3, Output::bernoulli)).activity().empty());
  const auto hybrid = Fixture(network(6, {"4d", "2s+3d"}, 3, Output::bernoulli)).activity();
  ASSERT_EQ(hybrid.size(), 1u);
  EXPECT_EQ(hybrid[0].layer, 2);
  EXPECT_EQ(hybrid[0].units, 2);
}

}  // namespace
}  // namespace sfnn
