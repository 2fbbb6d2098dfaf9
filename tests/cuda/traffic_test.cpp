// Bytes that a step's kernels move, at the paper's shapes: the distinct 32-byte sectors of each
// block, summed, against the distinct sectors of the launch. Only the simulator counts them.
#include <gtest/gtest.h>

#include "host/train/trainer.hpp"
#include "tests/gpusim/gpusim.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/networks.hpp"

namespace sfnn {
namespace {

TEST(Traffic, EveryKernelMovesAtMostAQuarterMoreThanItMust) {
  const NetworkSpec spec = network(392, {"200s", "200s"}, 392, Output::bernoulli);
  const std::int64_t N = 100;
  DataSet data{.D_in = 392, .D_out = 392, .output = Output::bernoulli};
  data.train.count = N;
  data.train.x = {std::vector<std::uint8_t>(N * 392, 100), 392, 1 / 255.0f};
  data.train.y = {std::vector<std::uint8_t>(N * 392, 200), 392, 1 / 255.0f};
  const auto backend = make_test_backend("cuda_fp32");
  Trainer trainer(*backend, spec, {.particles = 20, .batch = N, .epochs = 1, .drop_below = 0.0},
                  data);
  gpusim::clear_launches();
  trainer.train_step();
  backend->synchronize();
  int kernels = 0;
  for (const gpusim::LaunchRecord& launch : gpusim::launches()) {
    if (launch.is_gemm) continue;
    EXPECT_LE(double(launch.sectors_by_block()), 1.25 * double(launch.sectors_by_launch()))
        << launch.kernel;
    ++kernels;
  }
  EXPECT_EQ(kernels, 16);
}

}  // namespace
}  // namespace sfnn
