// The step on paper: its products against a calculation by hand, and how many launches it takes.
#include <gtest/gtest.h>

#include <algorithm>

#include "bench/lib/latency.hpp"
#include "tests/support/networks.hpp"

namespace sfnn::bench {
namespace {

constexpr double N = 100, M = 20, D = 392, H = 200;  // the paper's halves network

NetworkSpec halves() { return network(392, {"200s", "200s"}, 392, Output::bernoulli); }

std::vector<Launch> step(Math math = Math::fp32, double keep = 1,
                         Estimator estimator = Estimator::G3) {
  return launches_of_step(halves(), {.estimator = estimator, .particles = 20, .batch = 100}, math,
                          keep);
}

double product_operations(const std::vector<Launch>& launches, Unit unit) {
  double sum = 0;
  for (const Launch& launch : launches)
    if (launch.product && launch.unit == unit) sum += launch.operations;
  return sum;
}

double bytes_of(const std::vector<Launch>& launches, const std::string& name) {
  const auto found = std::find_if(launches.begin(), launches.end(),
                                  [&](const Launch& launch) { return launch.name == name; });
  return found == launches.end() ? 0 : found->bytes;
}

// W_1 x is shared by the particles of an example, and what flows back into h_1 is summed over them.
constexpr double kFirstLayer = 2 * N * D * H;  // forward, and as much for its weights
constexpr double kSecondLayer = 2 * N * M * H * H, kOutput = 2 * N * M * H * D;

TEST(Roofline, ProductsOfTheDefaultStepAsByHand) {
  const double back = kOutput + 2 * N * H * H;  // into h_2, particle by particle; into h_1, summed
  EXPECT_EQ(product_operations(step(), Unit::fp32),
            2 * kFirstLayer + 2 * kSecondLayer + 2 * kOutput + back);
}

TEST(Roofline, ATwoLayerStepOfG3TakesTwentySixLaunches) {
  const auto launches = step();
  EXPECT_LE(launches.size(), 26u);
  EXPECT_EQ(std::count_if(launches.begin(), launches.end(),
                          [](const Launch& launch) { return launch.product.has_value(); }),
            8);
}

TEST(Roofline, KernelsMoveEachOperandOnce) {
  const auto launches = step();
  EXPECT_EQ(bytes_of(launches, "output_log_prob"), 4 * (N * M * D + N * D + D + N * M));
  EXPECT_EQ(bytes_of(launches, "sample_hidden"), 4 * (N * H + H + N * M * H));
  EXPECT_EQ(bytes_of(launches, "sum_particles"), 4 * (N * M * H + N * H));
}

// Three bf16 products wherever an operand is bits: two forward, two for weights.
TEST(Roofline, SplitProductsRunOnTensorCores) {
  const auto launches = step(Math::bf16x3);
  EXPECT_EQ(product_operations(launches, Unit::bf16), 3 * (2 * kSecondLayer + 2 * kOutput));
  EXPECT_EQ(product_operations(launches, Unit::fp32), 2 * kFirstLayer + kOutput + 2 * N * H * H);
  EXPECT_EQ(bytes_of(launches, "sample_hidden"), 4 * (N * H + H) + 2 * N * M * H);
}

// A tenth of the particles: the products behind the weighing shrink with them, those before do not.
TEST(Roofline, CompactionThinsTheBackwardProducts) {
  EXPECT_DOUBLE_EQ(product_operations(step(Math::fp32, 0.1), Unit::fp32),
                   2 * kFirstLayer + 1.1 * kSecondLayer + 1.2 * kOutput + 2 * N * H * H);
  EXPECT_GT(step(Math::fp32, 0.1).size(), step().size());  // selecting and copying rows
}

// Score estimators send nothing down.
TEST(Roofline, ScoreEstimatorsNeedNoProductsBack) {
  EXPECT_EQ(product_operations(step(Math::fp32, 1, Estimator::G5), Unit::fp32),
            2 * kFirstLayer + 2 * kSecondLayer + 2 * kOutput);
}

// If products take the time, fewer and cheaper products both show, and together more. Three bf16
// products are cheaper than one of fp32 if tensor cores are more than three times as fast, which
// those of the RTX 4090 are not.
TEST(Roofline, SplitProductsAndDroppedParticlesGain) {
  const NetworkSpec large = network(784, {"1024s", "1024s"}, 784, Output::bernoulli);
  const auto time = [&](Math math, double keep, const Gpu& gpu) {
    return seconds(launches_of_step(large, {.particles = 50, .batch = 50}, math, keep), gpu);
  };
  for (const Gpu& gpu : kGpus) {
    const double plain = time(Math::fp32, 1, gpu), split = time(Math::bf16x3, 1, gpu);
    const double fewer = time(Math::fp32, 0.2, gpu), both = time(Math::bf16x3, 0.2, gpu);
    const bool splitting_pays = gpu.bf16 > 3 * gpu.fp32;
    // The products of two real operands remain fp32.
    EXPECT_EQ(split < 0.95 * plain, splitting_pays) << gpu.name;
    EXPECT_LT(fewer, 0.7 * plain) << gpu.name;
    EXPECT_EQ(both < std::min(split, fewer), splitting_pays) << gpu.name;
  }
}

TEST(Roofline, TheSlowerOfMemoryAndArithmeticDecides) {
  const Gpu gpu{"", 100, 10, 20, 40};
  EXPECT_EQ(seconds({.bytes = 500, .operations = 20}, gpu), 5);
  EXPECT_EQ(seconds({.bytes = 100, .operations = 20}, gpu), 2);
  EXPECT_EQ(seconds({.bytes = 0, .operations = 80, .unit = Unit::bf16}, gpu), 2);
}

// --- the model of latencies. Its constants stay as they are: forecasts of two versions would else
// not compare.

constexpr Gpu kTen{"ten multiprocessors", 1e12, 1e12, 2e12, 4e12, 10, 1e9};  // a trip: 0.5 us

TEST(Latency, AKernelWaitsForItsTrips) {
  const Spread four_trips{.warps = 8, .trips = 4};
  EXPECT_NEAR(forecast({.name = "", .spread = four_trips}, kTen), 1e-6 + 4 * 0.5e-6, 1e-12);
  // 16 blocks per multiprocessor, 6 of them resident: three waves, and every warp takes two rows.
  const Spread two_rounds{.warps = 2 * 8 * 16 * 10, .trips = 4};
  EXPECT_NEAR(forecast({.name = "", .spread = two_rounds}, kTen), 1e-6 + 3 * 2 * 4 * 0.5e-6, 1e-12);
}

TEST(Latency, NothingIsFasterThanItsRoofline) {
  for (const Gpu& gpu : kGpus)
    for (const Math math : {Math::fp32, Math::bf16x3})
      for (const Launch& launch : step(math))
        EXPECT_GT(forecast(launch, gpu), seconds(launch, gpu));
}

TEST(Latency, AProductFillsAsManyMultiprocessorsAsItHasBlocks) {
  const auto time = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return forecast({.name = "", .product = Product{ProductRole::decides_draws, false, m, n, k}},
                    kTen);
  };
  // One block of 32 x 32, too few terms to split: 2.048 Mflop at 30 % of 0.1 Tflop/s.
  EXPECT_NEAR(time(32, 32, 100), 1e-6 + 2 * 32 * 32 * 100 / 0.03e12 + 3 * 0.5e-6, 1e-10);
  EXPECT_LT(time(320, 32, 100), 1.01 * time(32, 32, 100));  // nine more, side by side
  EXPECT_GT(time(352, 32, 100), 1.3 * time(320, 32, 100));  // one that has to wait
}

TEST(Latency, LaunchByLaunchTheHostsPaceCounts) {
  const std::vector<Launch> tiny(40);
  Gpu quick = kTen;
  quick.clock = 1e12;
  EXPECT_DOUBLE_EQ(forecast_eager(tiny, quick), 40 * kHostLaunch);
  EXPECT_GT(forecast_eager(step(), kGpus[0]), 26 * kHostLaunch);
}

TEST(Latency, TheHalvesNetworkIsBoundByIt) {
  const Gpu& H100 = kGpus[1];
  const double time = forecast(step(), H100);
  EXPECT_GT(time, 130e-6);
  EXPECT_LT(time, 200e-6);
  EXPECT_GT(time, 5 * seconds(step(), H100));
}

}  // namespace
}  // namespace sfnn::bench
