// The benchmark of a step: F by hand, and the program as ./run bench calls it, on a small data set.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/lib/dense_floor.hpp"
#include "host/formats/atomic_file.hpp"
#include "tests/support/idx_files.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/program.hpp"

namespace sfnn::bench {
namespace {

using testing::HasSubstr;

constexpr double N = 100, M = 20, D = 392, H = 200;  // the paper's halves network

Workload halves(Estimator estimator) {
  Workload w;
  w.spec = network(392, {"200s", "200s"}, 392, Output::bernoulli);
  w.options = {.estimator = estimator, .particles = 20, .batch = 100};
  return w;
}

// The first layer forward and for its weights on N rows, the others forward, for their weights and
// back on N*M rows: the same list for an estimator that sends nothing back.
TEST(DenseFloor, IsThePlainStepsProductsForEveryEstimator) {
  const double expected = 2 * (2 * N * D * H) + 3 * (2 * N * M * (H * H + H * D));
  EXPECT_EQ(operations(floor_layers(halves(Estimator::G3))), expected);
  EXPECT_EQ(operations(floor_layers(halves(Estimator::G5))), expected);
}

TEST(DenseFloor, OfAnEvaluationIsForwardAlone) {
  Workload w = halves(Estimator::G3);
  w.evaluation = true;
  w.evaluated = 30;
  EXPECT_EQ(operations(floor_layers(w)), 2 * 30 * D * H + 2 * 30 * 100 * (H * H + H * D));
}

class StepBench : public Program {
 protected:
  // Enough pictures for two steps, in the folder that `sfnn data mnist` would use.
  void write_mnist() const {
    const auto folder = directory_ / "cache" / "sfnn" / "mnist";
    fs::create_directories(folder);
    for (const char* part : {"train", "t10k"}) {
      test::Bytes images = test::idx_header({200, 28, 28}), labels = test::idx_header({200});
      for (int i = 0; i < 200 * 28 * 28; ++i) images.push_back(char(i % 251));
      for (int i = 0; i < 200; ++i) labels.push_back(char(i % 10));
      std::ofstream(folder / (std::string(part) + "-images-idx3-ubyte")) << images;
      std::ofstream(folder / (std::string(part) + "-labels-idx1-ubyte")) << labels;
    }
  }
  Result bench(const std::string& arguments) {
    return run("--threads 1 --rounds 1 --repetitions 1 --cache nets " + arguments,
               "env -u SFNN_DATA XDG_CACHE_HOME=" + (directory_ / "cache").string());
  }
};

TEST_F(StepBench, WritesItsTableAsJson) {
  write_mnist();
  for (const char* workload : {"1", "6"}) {
    const Result result = bench(std::string("--json table.json --workload ") + workload);
    ASSERT_EQ(result.code, 0) << result.out;
    EXPECT_THAT(result.out, HasSubstr("on mnist halves\n"));
    std::ifstream file(directory_ / "table.json");
    const auto rows = nlohmann::json::parse(file);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0]["workload"], std::string("w") + workload);
    EXPECT_EQ(rows[0]["threads"], 1);
    EXPECT_GT(double(rows[0]["floor_ms"]), 0);
    EXPECT_DOUBLE_EQ(double(rows[0]["ratio"]), double(rows[0]["ms"]) / double(rows[0]["floor_ms"]));
  }
}

// A network that was trained by another recipe, or on other data, is not taken for this one.
TEST_F(StepBench, KeepsTrainedNetworksWithTheirRecipe) {
  write_mnist();
  const auto net = directory_ / "nets" / "w1-real.safetensors";
  const auto bytes = [&] { return read_file(net, 1 << 28); };
  ASSERT_EQ(bench("--workload 1").code, 0);
  const std::string trained = bytes();
  const auto written = fs::last_write_time(net);
  ASSERT_EQ(bench("--workload 1").code, 0);
  EXPECT_EQ(fs::last_write_time(net), written);
  ASSERT_EQ(bench("--workload 2").code, 0);
  fs::copy_file(directory_ / "nets" / "w2-real.safetensors", net,
                fs::copy_options::overwrite_existing);
  ASSERT_NE(bytes(), trained);
  ASSERT_EQ(bench("--workload 1").code, 0);
  EXPECT_EQ(bytes(), trained);
}

TEST_F(StepBench, BadCallsGetASentenceAndAnExitCode) {
  const Result unwritable = bench("--workload 1 --json none/table.json");
  EXPECT_EQ(unwritable.code, 1);
  EXPECT_EQ(unwritable.out, "step_bench: cannot write none/table.json\n");
  for (const char* call : {"--workload 7", "--rounds none", "--rounds 0", "--unknown"})
    EXPECT_EQ(bench(call).code, 2) << call;
  EXPECT_EQ(bench("--help").code, 0);
}

}  // namespace
}  // namespace sfnn::bench
