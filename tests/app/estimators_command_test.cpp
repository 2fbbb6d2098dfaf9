// sfnn estimators, as a user calls it.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "host/formats/atomic_file.hpp"
#include "host/run/metrics.hpp"
#include "kernels/estimators.hpp"
#include "tests/support/program.hpp"

namespace sfnn {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string text_of(const char* document) {
  return read_file(fs::path(SFNN_SOURCE_DIR) / document, std::size_t(1) << 20);
}

class Estimators : public Program {
 protected:
  void train(const std::string& name, const std::string& settings = "") {
    const Result result =
        run("train " + small_ + "--set train.epochs=2 " + settings + " --quiet --out " + name);
    ASSERT_EQ(result.code, 0) << result.out;
  }
};

TEST_F(Estimators, AlongARunWithLinesAndCharts) {
  train("first", "--set train.learning_rate=0.01");  // no unit saturates: every figure is known
  const Result result =
      run("estimators first --draws 10 --reference 40 --batch 20 --out e.jsonl --plot e.svg");
  ASSERT_EQ(result.code, 0) << result.out;
  for (const char* text : {"392-20s-10s-392 bernoulli", "M = 4, 20 examples, 10 draws",
                           "step 0, epoch 0; reference: G5 with M = 40 (M = 10 is off by ",
                           "step 4, epoch 1", "step 8, epoch 2", "layer1.W_s  bias", "cosine"})
    EXPECT_THAT(result.out, HasSubstr(text));
  std::size_t longest = 0;
  for (std::size_t begin = 0, end; begin < result.out.size(); begin = end + 1) {
    end = std::min(result.out.find('\n', begin), result.out.size());
    longest = std::max(longest, end - begin);
  }
  EXPECT_LE(longest, 112u);  // 100 letters, with those that are two bytes

  const auto lines = read_metrics(directory_ / "e.jsonl");
  EXPECT_EQ(lines.size(), 3 * kEstimators.size() * 3);  // points, estimators, matrices
  std::map<std::string, int> seen;
  for (const MetricsLine& line : lines) {
    seen[line["estimator"].get<std::string>() + " " + line["weights"].get<std::string>()]++;
    EXPECT_EQ(line["particles"], 4);
    EXPECT_EQ(line["reference_particles"], 40);
    EXPECT_GT(line["variance"].get<double>(), 0);
    EXPECT_LT(line["cosine"].get<double>(), 1.2);
  }
  EXPECT_EQ(seen.size(), 3 * kEstimators.size());
  EXPECT_EQ(seen["G3 layer2.W_s"], 3);

  const std::string svg = read_file(directory_ / "e.svg", std::size_t(1) << 24);
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"")) << svg.substr(0, 80);
  for (const char* text : {"Bias, layer1.W_s", "Variance of a draw, layer2.W_s",
                           "Direction of a draw, layer2.W_s", ">G5</text>"})
    EXPECT_THAT(svg, HasSubstr(text));
}

// Few enough units: the reference is exact, and a checkpoint alone will do.
TEST_F(Estimators, EnumeratesSmallNetworks) {
  train("tiny", "--set net.hidden=6s,5s");
  const Result result = run("estimators tiny/checkpoints/best.safetensors --draws 10 --batch 5 " +
                            std::string("--particles 1 --out e.jsonl"));
  ASSERT_EQ(result.code, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("reference: all states of the hidden units"));
  const auto lines = read_metrics(directory_ / "e.jsonl");
  EXPECT_EQ(lines.size(), 3u * 5);  // with one particle G4, G5, vimco and rloo teach nothing
  for (const MetricsLine& line : lines) EXPECT_EQ(line["reference_particles"], 0);
}

// A rate far too high makes every unit sure of itself within an epoch, so that two points of the
// path have no gradient to compare with: the reader is told once.
TEST_F(Estimators, SaysThatASaturatedNetworkHasNoReference) {
  train("saturated", "--set train.learning_rate=30");
  const Result result =
      run("estimators saturated --draws 10 --reference 8 --batch 20 --out e.jsonl --plot e.svg");
  ASSERT_EQ(result.code, 0) << result.out;
  EXPECT_THAT(result.out, Not(HasSubstr("nan")));
  const std::string remark = "the reference gradient is exactly zero";
  const std::size_t first = result.out.find(remark);
  EXPECT_NE(first, std::string::npos) << result.out;
  EXPECT_EQ(result.out.find(remark, first + 1), std::string::npos) << result.out;
  for (const MetricsLine& line : read_metrics(directory_ / "e.jsonl")) {
    if (line["weights"] == "V") continue;
    for (const char* key : {"reference_quarter_bias", "bias", "variance", "cosine", "cosine_sd"})
      EXPECT_EQ(line[key].is_null(), line["step"] > 0) << line;
  }
}

TEST_F(Estimators, SweepsTheConstantOfG5) {
  train("g5", "--set train.estimator=G5");
  const Result result = run("estimators g5 --sweep-c 0:2:0.5 --draws 8 --out e.jsonl --plot e.svg");
  ASSERT_EQ(result.code, 0) << result.out;
  const auto lines = read_metrics(directory_ / "e.jsonl");
  ASSERT_EQ(lines.size(), 3u * 5);
  for (std::size_t p = 0; p < 3; ++p) {
    const auto norm = [&](std::size_t i) { return lines[5 * p + i]["norm"].get<double>(); };
    EXPECT_EQ(lines[5 * p + 2]["cM"], 1.0);
    EXPECT_EQ(lines[5 * p]["step"], 4 * p);
    EXPECT_LT(norm(2), norm(0));
    EXPECT_LT(norm(2), norm(4));
  }
  EXPECT_THAT(read_file(directory_ / "e.svg", std::size_t(1) << 24), HasSubstr("step 8, epoch 2"));
}

// A run keeps few checkpoints by default: the help must say so before one trains for a path.
TEST_F(Estimators, HelpAndDocumentNameWhatKeepsAPath) {
  EXPECT_THAT(run("estimators --help").out, HasSubstr("train.keep"));
  EXPECT_THAT(text_of("docs/estimators.md"), HasSubstr("--set train.keep=50 --out "));
}

// From the source tree nothing has put sfnn on the PATH, and a run that README's commands have left
// must not be in the way.
TEST(EstimatorsDocument, CommandsCanBePastedAfterReadmes) {
  const std::string document = text_of("docs/estimators.md"), readme = text_of("README.md");
  EXPECT_THAT(document, Not(HasSubstr("\nsfnn ")));
  int runs = 0;
  const std::string out = "--out ";
  for (std::size_t at = 0; (at = document.find(out, at)) != document.npos; ++runs) {
    at += out.size();
    const std::string name = document.substr(at, document.find_first_of(" \n", at) - at);
    EXPECT_THAT(readme, Not(HasSubstr(name)));
    EXPECT_THAT(document, HasSubstr("\n./run sfnn estimators " + name + " "));
  }
  EXPECT_EQ(runs, 2);
}

TEST_F(Estimators, RefusesInOneSentence) {
  train("first");
  train("other", "--set seed=9");
  train("deterministic", "--set net.hidden=20d");
  const auto expect = [&](const std::string& arguments, int code, const char* text) {
    const Result result = run("estimators " + arguments);
    EXPECT_EQ(result.code, code) << result.out;
    EXPECT_THAT(result.out, HasSubstr(text));
  };
  expect("first other", 2,
         "belongs to another run than the checkpoints before it (seed: 1 against 9)");
  expect("deterministic", 2, "no stochastic units with weights");
  expect("first --draws 5", 2, "at least 10");
  expect("first --draws 0", 2, "1 to 2147483647");
  expect("first --batch 1000", 2, "there are 400 training examples");
  expect("first --sweep-c 1:2", 2, "LOW:HIGH:STEP");
  expect("first --sweep-c 2:1:0.1", 2, "LOW:HIGH:STEP");
  expect("first --sweep-c 0:1:0.5 --particles 1", 2, "train.particles");
  expect("nowhere", 2, "nowhere");
}

}  // namespace
}  // namespace sfnn
