// The shapes of launches, and the log-sum-exp that their threads merge.
#include "kernels/grid.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/column_splits.hpp"
#include "kernels/particle_weights.hpp"
#include "tests/support/random.hpp"

namespace sfnn {
namespace {

TEST(Grid, HasABlockForEveryItemUpToWhatKeepsTheDeviceBusy) {
  EXPECT_EQ(grid_for(0, 8, 2), 1u);  // never zero: that is a launch error
  EXPECT_EQ(grid_for(1, 8, 2), 1u);
  EXPECT_EQ(grid_for(8, 8, 2), 1u);
  EXPECT_EQ(grid_for(9, 8, 2), 2u);
  EXPECT_EQ(grid_for(8 * 32, 8, 2), 32u);
  EXPECT_EQ(grid_for(8 * 32 + 1, 8, 2), 32u);  // strides from here on
  EXPECT_EQ(grid_for(std::int64_t(1) << 40, 256, 132), 132u * 16);
}

TEST(Grid, SplitsColumnSumsByTheirRowsAlone) {
  EXPECT_EQ(column_splits(1), 1);
  EXPECT_EQ(column_splits(4096), 1);
  EXPECT_EQ(column_splits(4097), 3);
  EXPECT_EQ(column_splits(std::int64_t(1) << 40), kMaxColumnSplits);
}

TEST(LogSumExp, MergesInAnyGrouping) {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    LogSumExp<double> whole, left, right;
    for (int i = 0; i < 10; ++i) {
      const double value = 300 * random.normal();
      whole.add(value);
      (random.uniform() < 0.5 ? left : right).add(value);
    }
    left.merge(right);
    EXPECT_NEAR(left.value(), whole.value(), 1e-12 * std::abs(whole.value()));
  }
}

TEST(LogSumExp, EmptyOnesMergeToNothingAndNaNShows) {
  LogSumExp<float> nothing, one, bad;
  nothing.merge(LogSumExp<float>{});
  EXPECT_EQ(nothing.value(), -INFINITY);
  one.add(2.0f);
  one.merge(nothing);
  EXPECT_EQ(one.value(), 2.0f);
  nothing.merge(one);
  EXPECT_EQ(nothing.value(), 2.0f);
  bad.add(NAN);
  one.merge(bad);
  EXPECT_TRUE(std::isnan(one.value()));
  bad.merge(nothing);
  EXPECT_TRUE(std::isnan(bad.value()));
}

}  // namespace
}  // namespace sfnn
