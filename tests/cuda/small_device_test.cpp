// A device with too little memory. The simulator can pretend to be one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/base/error.hpp"
#include "host/train/trainer.hpp"
#include "tests/gpusim/gpusim.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/run_pass.hpp"
#include "tests/support/small_data.hpp"

namespace sfnn {
namespace {

constexpr std::size_t kMiB = std::size_t(1) << 20;

class SmallDevice : public testing::Test {
 protected:
  ~SmallDevice() override { gpusim::set_device_memory(std::size_t(1) << 33); }
};

TEST_F(SmallDevice, SaysWhatItLacks) {
  gpusim::set_device_memory(64 * kMiB);  // half of it is cuBLAS's workspace
  const auto backend = make_test_backend("cuda_fp32");
  try {
    Buffer(*backend, 100 * kMiB);
    FAIL() << "there is no room for this";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("too little memory: 100 MiB"));
  }
  EXPECT_NO_THROW(Buffer(*backend, 10 * kMiB));  // and it still works
}

TEST_F(SmallDevice, TakesALargeBatchInTiles) {
  gpusim::set_device_memory(64 * kMiB);
  const auto backend = make_test_backend("cuda_fp32");
  const StepShape shape{.batch = 1000, .M = 100, .row_floats = 1000, .parameters = 1000};
  const Tiling tiling = backend->choose_tiling(shape);
  EXPECT_GE(tiling.tile, 1);
  EXPECT_LT(tiling.tile, 100);  // 1000 examples would take 400 MB and more
  EXPECT_EQ(tiling.parts, 1);
  gpusim::set_device_memory(std::size_t(1) << 33);
  EXPECT_EQ(backend->choose_tiling(shape).tile, 1000);
  const StepShape huge{.batch = 100000, .M = 100, .row_floats = 10, .parameters = 10};
  EXPECT_EQ(backend->choose_tiling(huge).tile, (1 << 17) / 100);  // more would gain nothing
}

// The tiles are not only small: with them a step fits.
TEST_F(SmallDevice, TrainsInTilesThatFit) {
  const auto backend = make_test_backend("cuda_fp32");
  const NetworkSpec spec = network(8, {"60s", "50s"}, 8, Output::bernoulli);
  const DataSet data = small_data(200, 8, 8, Output::bernoulli);
  const TrainOptions options{.particles = 10, .batch = 200, .epochs = 1, .drop_below = 0.0};
  const std::size_t free = kMiB;
  gpusim::set_device_memory((std::size_t(1) << 33) - backend->free_memory() + free);
  const TrainPlan plan = plan_training(*backend, spec, options, data);
  EXPECT_TRUE(plan.tiling.short_of_memory);
  EXPECT_LT(plan.tiling.tile, 100);
  EXPECT_LE(plan.bytes(), free);
  Trainer trainer(*backend, spec, options, data);
  EXPECT_EQ(trainer.workspace_bytes(), plan.workspace_bytes);
  EXPECT_NO_THROW(trainer.train_step());
  backend->synchronize();
}

}  // namespace
}  // namespace sfnn
