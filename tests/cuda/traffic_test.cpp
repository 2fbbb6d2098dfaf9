// Bytes that a step's kernels move, at the paper's shapes: the distinct 32-byte sectors of each
// block, summed, against the distinct sectors of the launch. Only the simulator counts them.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "bench/lib/op_cases.hpp"
#include "host/train/trainer.hpp"
#include "tests/gpusim/gpusim.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/networks.hpp"

namespace sfnn {
namespace {

// Returns how many kernels it looked at.
int expect_lean(const std::vector<gpusim::LaunchRecord>& launches, double most = 1.25) {
  int kernels = 0;
  for (const gpusim::LaunchRecord& launch : launches) {
    if (launch.is_gemm) continue;
    EXPECT_LE(double(launch.sectors_by_block()), most * double(launch.sectors_by_launch()))
        << launch.kernel;
    ++kernels;
  }
  return kernels;
}

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
  EXPECT_EQ(expect_lean(gpusim::launches()), 17);
}

// Every op at the paper's shapes: softmax has ten classes, the other outputs are half a picture.
std::vector<bench::OpCase> paper_cases() {
  const auto is_softmax = [](const bench::OpCase& op) {
    return op.name.find("softmax") != std::string::npos;
  };
  std::vector<bench::OpCase> cases = bench::op_cases({});
  std::erase_if(cases, is_softmax);
  for (const bench::OpCase& op : bench::op_cases({.D = 10}))
    if (is_softmax(op)) cases.push_back(op);
  return cases;
}

// What that step has none of: other estimators, outputs and units, half the rows, bf16.
TEST(Traffic, SoDoTheKernelsOfOtherSteps) {
  std::set<std::string> seen;
  const std::vector<bench::OpCase> cases = paper_cases();
  for (const char* math : {"cuda_fp32", "cuda_bf16x3"}) {
    const auto backend = make_test_backend(math, /*graph=*/true);
    for (const bench::OpCase& op : cases) {
      const bool has_bits = std::any_of(
          op.arrays.begin(), op.arrays.end(),
          [](const bench::Array& array) { return array.kind == bench::Array::Kind::bits; });
      if (op.reads_back || (std::string(math) == "cuda_bf16x3" && !has_bits)) continue;
      SCOPED_TRACE(std::string(math) + " " + op.name);
      const bench::Operands operands(*backend, op.arrays);
      gpusim::clear_launches();
      op.run(*backend, operands);
      backend->synchronize();
      // Blocks that draw the particles of one example each read its e; the cache has it by then.
      const bool reads_e =
          op.name.find(", R") != std::string::npos || op.name == "log_ratio, shared a";
      expect_lean(gpusim::launches(), reads_e ? 1.6 : 1.25);
      for (const gpusim::LaunchRecord& launch : gpusim::launches()) seen.insert(launch.kernel);
    }
  }
  for (const char* kernel : {"score_grad", "summed_score_grad", "path_grad", "baseline_sums",
                             "activate", "deterministic_grad", "gather_rows", "split_bf16",
                             "accumulate_mean_output", "update_baseline", "make_beta"}) {
    EXPECT_TRUE(std::any_of(seen.begin(), seen.end(), [&](const std::string& name) {
      return name.find(kernel) != std::string::npos;
    })) << kernel;
  }
}

}  // namespace
}  // namespace sfnn
