// Threads beyond the parts of a batch: they have work, and they change no bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "host/backend/cpu/cpu_backend.hpp"
#include "host/train/gradient_draws.hpp"
#include "host/train/trainer.hpp"
#include "tests/support/count_allocations.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/small_data.hpp"

namespace sfnn {
namespace {

// What each thread does for the gradient of a batch of random examples.
std::vector<std::int64_t> work_of_a_gradient(int threads, const NetworkSpec& spec,
                                             const TrainOptions& options) {
  CpuBackend backend(threads);
  const Model model(backend, spec, std::vector<float>(std::size_t(ParamLayout(spec).size)));
  const DataSet data = small_data(options.batch, spec.D_in, spec.D_out, spec.output);
  GradientDraws draws(model, options, data);
  draws.next();
  return backend.work_done();
}

void expect_all_busy(const std::vector<std::int64_t>& work) {
  const double mean =
      double(std::accumulate(work.begin(), work.end(), std::int64_t(0))) / double(work.size());
  const std::string all = testing::PrintToString(work);
  EXPECT_GT(*std::min_element(work.begin(), work.end()), mean / 3) << all;
  EXPECT_LT(*std::max_element(work.begin(), work.end()), mean * 3) << all;
}

// The benchmarks' workloads 1 and 5 (bench/lib/workloads.cpp).
TEST(Lanes, ThirtyTwoThreadsAreBusyOnALargeNetwork) {
  expect_all_busy(
      work_of_a_gradient(32, network(784, {"1024s", "1024s", "1024s"}, 784, Output::bernoulli),
                         {.particles = 50, .batch = 100}));
}

TEST(Lanes, SixteenThreadsAreBusyOnASmallNetwork) {
  expect_all_busy(work_of_a_gradient(16, network(392, {"200s", "200s"}, 392, Output::bernoulli),
                                     {.particles = 20, .batch = 100}));
}

struct Case {
  const char* name;
  NetworkSpec spec;
  Estimator estimator;
};

std::vector<Case> cases() {
  const NetworkSpec S = network(300, {"90s", "70s"}, 130, Output::bernoulli);
  const NetworkSpec C = network(300, {"40s+90d", "33s+70d"}, 130, Output::bernoulli);
  const NetworkSpec D = network(300, {"40n+90d", "33n+70d"}, 130, Output::softmax);
  // Wide enough for a dense product to be cut as well: 560 rows of 512 columns.
  const NetworkSpec wide = network(30, {"512s", "40s"}, 10, Output::bernoulli);
  return {{"S_G1", S, Estimator::G1}, {"S_G3", S, Estimator::G3},      {"S_G5", S, Estimator::G5},
          {"C_G1", C, Estimator::G1}, {"C_G3", C, Estimator::G3},      {"C_G5", C, Estimator::G5},
          {"D_G3", D, Estimator::G3}, {"wide_G3", wide, Estimator::G3}};
}

class LanesCases : public testing::TestWithParam<int> {
 protected:
  Case case_ = cases()[std::size_t(GetParam())];
  TrainOptions options_{.seed = 5,
                        .estimator = case_.estimator,
                        .particles = 70,
                        .batch = 32,
                        .epochs = 3,
                        .learning_rate = 0.05,
                        .noise = 0.1,
                        .tiling = {8, 2}};
  DataSet data_ = small_data(32 * 5, case_.spec.D_in, case_.spec.D_out, case_.spec.output);
};

TEST_P(LanesCases, SameBitsForAnyNumberOfThreads) {
  const auto train = [&](int threads) {
    CpuBackend backend(threads);
    Trainer trainer(backend, case_.spec, options_, data_);
    for (int step = 0; step < 3; ++step) trainer.train_step();
    const auto work = backend.work_done();
    const auto busy = std::count_if(work.begin(), work.end(), [](auto done) { return done > 2; });
    EXPECT_GE(busy, std::min(threads, 8)) << testing::PrintToString(work);
    return trainer.state();
  };
  const TrainState expected = train(1);
  for (int threads : {2, 5, 8, 32}) {
    const TrainState state = train(threads);
    EXPECT_EQ(state.P().array("params"), expected.P().array("params")) << threads;
    EXPECT_EQ(state.P().arrays, expected.P().arrays) << threads;
    EXPECT_EQ(state.c_hat_sum, expected.c_hat_sum) << threads;
  }
}

TEST_P(LanesCases, AStepOfTeamsAllocatesNothing) {
  CpuBackend backend(8);
  Trainer trainer(backend, case_.spec, options_, data_);
  trainer.train_step();
  trainer.train_step();
  EXPECT_EQ(count_allocations([&] { trainer.train_step(); }), 0);
}

INSTANTIATE_TEST_SUITE_P(Networks, LanesCases, testing::Range(0, int(cases().size())),
                         [](const auto& it) { return cases()[std::size_t(it.param)].name; });

}  // namespace
}  // namespace sfnn
