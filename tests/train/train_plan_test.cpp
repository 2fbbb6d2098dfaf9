// What a run will do, before it does it.
#include "host/train/train_plan.hpp"

#include <gtest/gtest.h>

#include "host/devices/registry.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/small_data.hpp"

namespace sfnn {
namespace {

TEST(TrainPlan, TakesNothing) {
  const NetworkSpec huge = network(7, {"400000s", "400000s"}, 5, Output::bernoulli);
  const auto backend = make_backend({.device = "cpu", .threads = 1});
  const TrainPlan plan = plan_training(*backend, huge, {}, small_data(50, 7, 5, Output::bernoulli));
  EXPECT_GT(plan.bytes(), std::size_t(3) * 4 * 400000 * 400000);  // weights, velocity, gradient
}

// Without its constant vimco is proportional to w_bar, for small ones: particles may be dropped.
TEST(TrainPlan, VimcoWithoutItsConstantDropsParticles) {
  const NetworkSpec spec = network(7, {"4s"}, 5, Output::bernoulli);
  const auto backend = make_backend({.device = "cpu", .threads = 1});
  const DataSet data = small_data(50, 7, 5, Output::bernoulli);
  const auto estimator = [&](Estimator e, std::optional<double> c) {
    return plan_training(*backend, spec, {.estimator = e, .c = c}, data).pass.estimator;
  };
  EXPECT_TRUE(estimator(Estimator::vimco, 0).follows_w_bar);
  EXPECT_FALSE(estimator(Estimator::vimco, std::nullopt).follows_w_bar);
  EXPECT_FALSE(estimator(Estimator::vimco, 0.1).follows_w_bar);
  EXPECT_FALSE(estimator(Estimator::G5, 0).follows_w_bar) << "its bits stay as they were";
}

}  // namespace
}  // namespace sfnn
