// y = (1 + x) or -(1 + x), with noise of 0.05: a network whose sigma is learnt or predicted draws
// samples in two sharp bands; with the unit variance of the paper they are a cloud.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "host/devices/registry.hpp"
#include "host/train/evaluate.hpp"
#include "host/train/predict.hpp"
#include "host/train/trainer.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/random.hpp"
#include "tests/support/threads.hpp"

namespace sfnn {
namespace {

constexpr double kNoise = 0.05;

Examples two_values(std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> x, y;
  for (std::int64_t n = 0; n < count; ++n) {
    x.push_back(float(random.uniform(0, 2)));
    const double sign = random.uniform() < 0.5 ? -1 : 1;
    y.push_back(float(sign * (1 + x.back()) + kNoise * random.normal()));
  }
  return {.count = count, .x = {.values = x, .cols = 1}, .y = {.values = y, .cols = 1}};
}

struct Bands {
  double upper = 0, lower = 0;  // shares of samples within six sigma of noise of either value
  Evaluation test;
};

Bands train_and_sample(Output output) {
  const auto backend = make_backend({.device = "cpu", .threads = test_threads(2)});
  DataSet data{.D_in = 1, .D_out = 1, .output = Output::gaussian};
  data.train = two_values(2000, 1);
  const NetworkSpec spec = network(1, {"10s+40d"}, 1, output);
  Trainer trainer(*backend, spec,
                  {.estimator = Estimator::G5, .batch = 50, .epochs = 80, .learning_rate = 0.02},
                  data);
  while (trainer.step() < trainer.total_steps()) trainer.train_step();

  const Examples test = two_values(300, 2);
  constexpr std::int64_t kSamples = 20;
  std::vector<std::int32_t> rows(test.count);
  std::iota(rows.begin(), rows.end(), 0);
  const std::vector<float> samples = draw_outputs(
      output, sample_outputs(trainer.model(), test, rows, kSamples, 1), test.count, kSamples, 1);
  Bands bands{.test = evaluate(trainer.model(), test, {})};
  for (std::size_t e = 0; e < samples.size(); ++e) {
    const double value = 1 + test.x.at(std::int64_t(e) / kSamples, 0);
    bands.upper += std::abs(samples[e] - value) < 6 * kNoise;
    bands.lower += std::abs(samples[e] + value) < 6 * kNoise;
  }
  bands.upper /= double(samples.size());
  bands.lower /= double(samples.size());
  return bands;
}

TEST(TwoValues, ALearntSigmaGivesTwoSharpBands) {
  const Bands bands = train_and_sample(Output::gaussian_learnt);
  EXPECT_GT(bands.upper + bands.lower, 0.95);
  EXPECT_GT(bands.upper, 0.4);
  EXPECT_GT(bands.lower, 0.4);
  EXPECT_GT(*bands.test.sigma, kNoise);  // what the network misses adds to the noise
  EXPECT_LT(*bands.test.sigma, 2 * kNoise);
  // The best NLL is log 2 + log(0.05 sqrt(2 pi e)) = -0.88.
  EXPECT_LT(bands.test.nll, -0.7);
}

// Two heads share the hidden units: if sigma were as fast as the mean, it would cover both values
// within a few steps, and no gradient would lead away from there.
TEST(TwoValues, APredictedSigmaGivesTwoSharpBands) {
  const Bands bands = train_and_sample(Output::gaussian_predicted);
  EXPECT_GT(bands.upper + bands.lower, 0.95);
  EXPECT_GT(bands.upper, 0.4);
  EXPECT_GT(bands.lower, 0.4);
  EXPECT_LT(bands.test.nll, -0.6);
}

TEST(TwoValues, AUnitSigmaGivesACloud) {
  const Bands bands = train_and_sample(Output::gaussian);
  EXPECT_LT(bands.upper + bands.lower, 0.4);
}

}  // namespace
}  // namespace sfnn
