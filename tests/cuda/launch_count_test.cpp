// What a training step costs in launches. Only the simulator counts them.
#include <gtest/gtest.h>

#include <algorithm>

#include "host/train/trainer.hpp"
#include "tests/gpusim/gpusim.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/networks.hpp"

namespace sfnn {
namespace {

// The paper's network with a smaller batch: the launches are as many.
TEST(LaunchCount, ATwoLayerStepOfG3TakesAtMostTwentyFive) {
  const NetworkSpec spec = network(12, {"10s", "10s"}, 12, Output::bernoulli);
  DataSet data{.D_in = 12, .D_out = 12, .output = Output::bernoulli};
  data.train.count = 8;
  data.train.x = {std::vector<float>(8 * 12, 0.5f), 12};
  data.train.y = {std::vector<float>(8 * 12, 0.5f), 12};
  for (const bool graph : {false, true}) {
    const auto backend = make_test_backend("cuda_fp32", graph);
    Trainer trainer(*backend, spec, {.particles = 4, .batch = 4, .epochs = 3, .drop_below = 0.0},
                    data);
    trainer.train_step();
    trainer.train_step();
    backend->synchronize();
    gpusim::clear_launches();
    trainer.train_step();  // begins an epoch: Thrust's shuffle is not among a step's launches
    backend->synchronize();
    EXPECT_LE(gpusim::launches().size(), 25u);
    EXPECT_EQ(std::count_if(gpusim::launches().begin(), gpusim::launches().end(),
                            [](const gpusim::LaunchRecord& launch) { return launch.is_gemm; }),
              8);  // three forward, three weight gradients, two back
  }
}

}  // namespace
}  // namespace sfnn
