#include "host/train/schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "host/train/train_options.hpp"

namespace sfnn {
namespace {

TEST(Schedule, EachKindAfterItsWarmUp) {
  Schedule schedule{.max_rate = 2, .warmup_steps = 4, .total_steps = 12, .drops = {6, 9}};
  const auto rates = [&](ScheduleKind kind) {
    schedule.kind = kind;
    std::vector<double> found;
    for (const std::int64_t t : {0, 3, 4, 6, 8, 10}) found.push_back(schedule.rate(t));
    return found;
  };
  using testing::DoubleEq, testing::ElementsAre, testing::DoubleNear;
  EXPECT_THAT(rates(ScheduleKind::constant), ElementsAre(0.5, 2, 2, 2, 2, 2));
  EXPECT_THAT(rates(ScheduleKind::cosine),
              ElementsAre(0.5, 2, 2, DoubleEq(1 + std::sqrt(0.5)), DoubleNear(1, 1e-12),
                          DoubleEq(1 - std::sqrt(0.5))));
  EXPECT_THAT(rates(ScheduleKind::steps),
              ElementsAre(0.5, 2, 2, DoubleEq(0.2), DoubleEq(0.2), DoubleEq(0.02)));
}

// Epochs of ten steps; the run is continued from step 20, with two of four epochs done.
TEST(Schedule, ATailBeginsAnewIfItEndsInZero) {
  TrainOptions options{.epochs = 4, .learning_rate = 1};
  const Schedule tail = schedule_of(options, 10, 20);  // warm-up of 2 / 5 epochs
  EXPECT_DOUBLE_EQ(tail.rate(20), 0.25);
  EXPECT_DOUBLE_EQ(tail.rate(23), 1);
  EXPECT_DOUBLE_EQ(tail.rate(24), 1);
  EXPECT_DOUBLE_EQ(tail.rate(32), 0.5);
  options.warmup_epochs = 3;  // more than there are left
  EXPECT_DOUBLE_EQ(schedule_of(options, 10, 20).rate(39), 1);
  options.warmup_epochs = 0;
  options.schedule = ScheduleKind::cosine;
  EXPECT_DOUBLE_EQ(schedule_of(options, 10, 20).rate(20), 1);
  EXPECT_NEAR(schedule_of(options, 10, 20).rate(30), 0.5, 1e-12);
  options.warmup_steps = 5;
  options.warmup_epochs.reset();
  options.schedule = ScheduleKind::constant;
  EXPECT_DOUBLE_EQ(schedule_of(options, 10, 20).rate(20), 1) << "it has warmed up long before";
  EXPECT_DOUBLE_EQ(schedule_of(options, 10).rate(0), 0.2);
}

TEST(Schedule, RisesThenFallsToZero) {
  const Schedule schedule{.max_rate = 2, .warmup_steps = 4, .total_steps = 12};
  EXPECT_DOUBLE_EQ(schedule.rate(0), 0.5);
  EXPECT_DOUBLE_EQ(schedule.rate(3), 2);
  EXPECT_DOUBLE_EQ(schedule.rate(4), 2);
  EXPECT_DOUBLE_EQ(schedule.rate(8), 1);
  EXPECT_DOUBLE_EQ(schedule.rate(11), 0.25);
  const Schedule flat{.max_rate = 1, .warmup_steps = 0, .total_steps = 2};
  EXPECT_DOUBLE_EQ(flat.rate(0), 1);
  EXPECT_DOUBLE_EQ(flat.rate(1), 0.5);
}

}  // namespace
}  // namespace sfnn
