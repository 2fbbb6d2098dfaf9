// The demo keeps its promise: close to the optimum, far from what a network without hidden
// randomness can do. What it suggests to try next works as printed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

// What a command prints on stdout; its exit code must be 0.
std::vector<std::string> lines_of(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  std::vector<std::string> lines;
  std::array<char, 1024> line{};
  while (fgets(line.data(), line.size(), pipe) != nullptr) {
    lines.emplace_back(line.data());
    if (lines.back().ends_with('\n')) lines.back().pop_back();
  }
  EXPECT_EQ(pclose(pipe), 0) << command;
  return lines;
}

TEST(Demo, ComesCloseToTheOptimumAndDraws) {
  // A name that a shell would read as two: the commands at the end have it in quotes.
  const fs::path folder = fs::temp_directory_path() / ("sfnn demo-" + std::to_string(getpid()));
  const std::string out = (folder / "demo").string();
  const std::vector<std::string> lines = lines_of("'" SFNN_PROGRAM "' demo --out '" + out + "'");
  const auto result = std::ranges::find_if(
      lines, [](const std::string& line) { return line.starts_with("demo: "); });
  ASSERT_NE(result, lines.end());
  double nll = 0, optimum = 0, factorial = 0;
  int samples = 0;
  ASSERT_EQ(std::sscanf(result->c_str(),
                        "demo: test NLL %lf (best possible %lf; best without hidden randomness "
                        "%lf), samples %n",
                        &nll, &optimum, &factorial, &samples),
            3)
      << *result;
  EXPECT_GE(factorial, 1.5 * optimum);
  EXPECT_LT(nll - optimum, 0.10 * optimum);
  EXPECT_LT(nll - optimum, 0.15 * (factorial - optimum));
  EXPECT_GT(nll, optimum) << "nothing can be better than the optimum by more than chance";
  EXPECT_GT(fs::file_size(result->substr(std::size_t(samples))), 1000u);

  EXPECT_NE((result + 1)->find(out + "/play.html"), std::string::npos) << *(result + 1);
  EXPECT_GT(fs::file_size(out + "/play.html"), 100'000u) << "it holds the weights";

  std::vector<std::string> next;  // the commands to copy
  for (auto line = result + 1; line != lines.end(); ++line)
    if (line->starts_with("    ")) next.push_back(line->substr(4));
  ASSERT_EQ(next.size(), 3u);
  for (std::string command : next) {
    if (command.find(" train ") != std::string::npos) command += " --set train.epochs=1";  // sooner
    lines_of(command);
  }
  EXPECT_GT(fs::file_size(out + "/report.html"), 10'000u);
  EXPECT_TRUE(fs::exists(out + "-g5/metrics.jsonl"));
  fs::remove_all(folder);
}

}  // namespace
