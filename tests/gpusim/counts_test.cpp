// What the simulator counts: instructions, bytes, sectors.
#include "tests/gpusim/device_array.hpp"
#include "tests/gpusim/gpusim.hpp"
#include "tests/gpusim/mutants.hpp"

namespace sfnn::mutants {
namespace {

using probes::DeviceArray;
using probes::values;

gpusim::LaunchRecord copied(int size, int stride) {
  DeviceArray<float> x(values(std::size_t(size * stride), 0, 1)), y{std::size_t(size)};
  gpusim::clear_launches();
  EXPECT_EQ(launch_copy(x.data(), y.data(), size, stride), cudaSuccess);
  EXPECT_EQ(gpusim::launches().size(), 1u);
  return gpusim::launches().at(0);
}

TEST(Counts, DenseCopyMovesEachSectorOnce) {
  const auto record = copied(256, 1);
  EXPECT_EQ(record.kernel, "sfnn::mutants::copy_kernel");
  EXPECT_EQ(record.grid, (gpusim::Dim3{4, 1, 1}));
  EXPECT_EQ(record.load_bytes, 1024u);
  EXPECT_EQ(record.store_bytes, 1024u);
  EXPECT_EQ(record.sectors_by_launch(), 2 * 1024u / 32);
  EXPECT_EQ(record.sectors_by_block(), 2 * 1024u / 32);
  ASSERT_EQ(record.buffers.size(), 2u);
}

TEST(Counts, StridedCopyMovesASectorForEachFloat) {
  const auto record = copied(256, 8);
  EXPECT_EQ(record.load_bytes, 1024u);
  EXPECT_EQ(record.buffers[0].loads.by_launch, 256u);
  EXPECT_EQ(record.buffers[1].stores.by_launch, 1024u / 32);
}

// Blocks of 64 floats begin in the middle of a sector when x does.
TEST(Counts, SectorsSharedByBlocksCountOncePerBlock) {
  DeviceArray<float> x(values(132, 0, 1)), y(128);
  gpusim::clear_launches();
  ASSERT_EQ(launch_copy(x.data() + 4, y.data(), 128, 1), cudaSuccess);
  const auto& loads = gpusim::launches().at(0).buffers[0].loads;
  EXPECT_EQ(loads.by_launch, 17u);
  EXPECT_EQ(loads.by_block, 18u);
}

TEST(Counts, InstructionsDoNotDependOnTheThreadOrder) {
  const auto before = gpusim::set_thread_order(gpusim::ThreadOrder::kUp);
  const auto up = copied(100, 1);
  gpusim::set_thread_order(gpusim::ThreadOrder::kDown);
  const auto down = copied(100, 1);
  gpusim::set_thread_order(before);
  EXPECT_EQ(up.instructions, down.instructions);
  EXPECT_GT(up.instructions, 100u * 5);
  EXPECT_LT(up.instructions, 128u * 40);
}

TEST(Counts, TwoMultiprocessors) {
  cudaDeviceProp properties;
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  EXPECT_EQ(properties.multiProcessorCount, 2);
  EXPECT_EQ(properties.warpSize, 32);
}

}  // namespace
}  // namespace sfnn::mutants
