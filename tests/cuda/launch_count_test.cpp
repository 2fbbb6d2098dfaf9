// What a training step costs in launches. Only the simulator counts them.
#include <gtest/gtest.h>

#include <algorithm>

#include "bench/lib/predicted_step.hpp"
#include "host/train/trainer.hpp"
#include "tests/gpusim/gpusim.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/run_pass.hpp"

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

// cuBLAS may round to tf32, and does so only if asked to; the simulator always does.
TEST(MathModes, OnlyTf32Rounds) {
  const auto product = [](const char* name) {
    const auto backend = make_test_backend(name);
    const Buffer a = upload(*backend, std::vector<float>{1 + 0x1p-15f});
    Buffer out(*backend, sizeof(float));
    backend->multiply({ConstMatrix{a.floats(), 1, 1}, {a.floats(), 1, 1}, {out.floats(), 1, 1}});
    return download(*backend, out.floats(), 1)[0];
  };
  EXPECT_EQ(product("cuda_tf32"), 1);
  EXPECT_GT(product("cuda_fp32"), 1);
  EXPECT_GT(product("cuda_bf16x3"), 1);  // both operands are real
}

// A part of a split operand is aligned for tensor cores, whatever its size.
TEST(MathModes, OddSizesAreSplitIntoAlignedParts) {
  const auto backend = make_test_backend("cuda_bf16x3");
  for (const std::int64_t cols : {1, 3, 7, 8}) {
    const std::int64_t rows = 4, inner = 5;
    const Buffer W = upload(*backend, std::vector<float>(inner * cols, 1 / 3.0f));
    const Buffer s(*backend, backend->bits_bytes(rows, inner));
    const Buffer out(*backend, rows * cols * sizeof(float));
    gpusim::clear_launches();
    backend->multiply(
        {ConstBits{s.data(), rows, inner}, {W.floats(), inner, cols}, {out.floats(), rows, cols}});
    backend->synchronize();
    int products = 0;
    for (const gpusim::LaunchRecord& launch : gpusim::launches()) {
      if (!launch.is_gemm) continue;
      ++products;
      EXPECT_GE(launch.alignment, 16u) << cols;
    }
    EXPECT_EQ(products, 3);
  }
}

// The step on paper (bench/roofline) is the one that runs: the same launches, products of the same
// size, and about the same bytes wherever these are many.
TEST(LaunchCount, ThePredictedStepIsTheRealOne) {
  const NetworkSpec spec = network(64, {"96s", "96s"}, 64, Output::bernoulli);
  const TrainOptions options{.particles = 8, .batch = 8, .epochs = 1, .drop_below = 0.0};
  std::vector<bench::Launch> predicted =
      bench::launches_of_step(spec, options, bench::Math::fp32, /*keep=*/1);
  std::erase_if(predicted, [](const bench::Launch& launch) { return launch.name == "memset"; });

  DataSet data{.D_in = 64, .D_out = 64, .output = Output::bernoulli};
  data.train.count = 16;
  data.train.x = data.train.y = {std::vector<std::uint8_t>(16 * 64, 100), 64, 1 / 255.0f};
  const auto backend = make_test_backend("cuda_fp32");
  Trainer trainer(*backend, spec, options, data);
  trainer.train_step();
  gpusim::clear_launches();
  trainer.train_step();
  backend->synchronize();
  const auto& real = gpusim::launches();
  ASSERT_EQ(predicted.size(), real.size());
  for (std::size_t k = 0; k < real.size(); ++k) {
    SCOPED_TRACE(predicted[k].name + " is " + real[k].kernel);
    ASSERT_EQ(predicted[k].product.has_value(), real[k].is_gemm);
    if (real[k].is_gemm) {
      // cuBLAS's m is our n: row-major products are transposed to it.
      const bench::Product& p = *predicted[k].product;
      EXPECT_EQ(std::tuple(p.n, p.m, p.k), std::tuple(real[k].m, real[k].n, real[k].k));
    } else if (predicted[k].bytes > 4096) {
      const double moved = 32.0 * double(real[k].sectors_by_launch());
      EXPECT_NEAR(predicted[k].bytes, moved, 0.1 * moved);
    }
  }
}

}  // namespace
}  // namespace sfnn
