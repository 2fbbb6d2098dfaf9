// A device with too little memory. The simulator can pretend to be one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/backend/error.hpp"
#include "host/train/trainer.hpp"
#include "tests/gpusim/gpusim.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/run_pass.hpp"

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
  EXPECT_NO_THROW(Buffer(*backend, 10 * kMiB));  // and goes on
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

// What does not fit on the device is read from page-locked memory: the examples are the same.
TEST_F(SmallDevice, ReadsALargeDataSetFromTheHost) {
  gpusim::set_device_memory(48 * kMiB);
  const auto backend = make_test_backend("cuda_fp32");
  const std::int64_t rows = 3000, cols = 4096;  // 12 MB of 16 MB
  std::vector<std::uint8_t> data(rows * cols);
  for (std::size_t e = 0; e < data.size(); ++e) data[e] = std::uint8_t(e * 31 / 7);
  Buffer copy;
  const std::byte* staged = backend->stage(std::as_bytes(std::span(data)), copy);
  EXPECT_EQ(staged, copy.data());
  Buffer out(*backend, 2 * cols * sizeof(float));
  backend->set_clock({.first = 2000});
  backend->gather({.data = {staged, DataColumns::Type::u8, rows, cols, 1},
                   .tile = {.N = 2},
                   .out = {out.floats(), 2, cols}});
  const auto gathered = download(*backend, out.floats(), 2 * cols);
  for (std::int64_t e = 0; e < 2 * cols; ++e) ASSERT_EQ(gathered[e], float(data[2000 * cols + e]));
  EXPECT_NO_THROW(Buffer(*backend, 10 * kMiB)) << "the device's own memory was taken";
}

}  // namespace
}  // namespace sfnn
