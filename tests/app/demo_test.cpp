// The demo keeps its promise: close to the optimum, far from what a network without hidden
// randomness can do.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>

namespace {

namespace fs = std::filesystem;

TEST(Demo, ComesCloseToTheOptimumAndDraws) {
  const fs::path out = fs::temp_directory_path() / ("sfnn-demo-" + std::to_string(getpid()));
  FILE* pipe = popen(("'" SFNN_PROGRAM "' demo --quiet --out '" + out.string() + "'").c_str(), "r");
  std::array<char, 1024> line{};
  ASSERT_NE(fgets(line.data(), line.size(), pipe), nullptr);
  EXPECT_EQ(pclose(pipe), 0);
  double nll = 0, optimum = 0, factorial = 0;
  std::array<char, 1024> file{};
  ASSERT_EQ(std::sscanf(line.data(),
                        "demo: test NLL %lf (best possible %lf; best without hidden randomness "
                        "%lf), samples %1023s",
                        &nll, &optimum, &factorial, file.data()),
            4)
      << line.data();
  EXPECT_GE(factorial, 1.5 * optimum);
  EXPECT_LT(nll - optimum, 0.10 * optimum);
  EXPECT_LT(nll - optimum, 0.15 * (factorial - optimum));
  EXPECT_GT(nll, optimum) << "nothing can be better than the optimum by more than chance";
  EXPECT_GT(fs::file_size(file.data()), 1000u);
  fs::remove_all(out);
}

}  // namespace
