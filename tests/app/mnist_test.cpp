// Learning on real data: the shipped config, five epochs, must come below the figure that README
// states, and within the memory that docs/performance.md promises.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "host/run/metrics.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

TEST(Mnist, HalvesReach57NatsInFiveEpochs) {
  const char* root = std::getenv("SFNN_DATA");
  if (!root || !fs::exists(fs::path(root) / "mnist"))
    GTEST_SKIP() << "SFNN_DATA names no folder with mnist/ in it";
  const fs::path out = fs::temp_directory_path() / ("sfnn-mnist-" + std::to_string(getpid()));
  const std::string command = "'" SFNN_PROGRAM "' train --config '" SFNN_SOURCE_DIR
                              "/bench/paper/configs/mnist-halves.toml' --set train.epochs=5 --set "
                              "train.learning_rate=0.1 --out '" +
                              out.string() + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  rusage children{};
  ASSERT_EQ(getrusage(RUSAGE_CHILDREN, &children), 0);
  EXPECT_LT(children.ru_maxrss, 400 * 1024) << "kilobytes, the data set included";
  const auto lines = read_metrics(out / "metrics.jsonl");
  fs::remove_all(out);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_LE(double(lines.back()["test_nll"]), 57.0);
  EXPECT_GT(double(lines.back()["test_nll"]), 45.0) << "too good to be true";
}

}  // namespace
}  // namespace sfnn
