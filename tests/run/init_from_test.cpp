// `sfnn train --init-from`: weights of a finished run as another one's start.
#include "host/run/metrics.hpp"
#include "tests/support/program.hpp"

namespace sfnn {
namespace {

// Rate zero: what a run ends with is what it began with.
const std::string kFrozen = "--set train.learning_rate=0 --set train.epochs=1 ";

TEST_F(Program, StartsFromAnotherRunsWeights) {
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=1 --out first").code, 0);
  const Result tuned =
      run("train " + small_ + kFrozen + "--set data.seed=5 --init-from first --out tuned");
  ASSERT_EQ(tuned.code, 0) << tuned.out;
  EXPECT_EQ(newest("tuned").params(), newest("first").params());
  EXPECT_EQ(newest("tuned").config.net.init_from, "first");

  const Result from_file = run("train " + small_ + kFrozen +
                               "--init-from first/checkpoints/best.safetensors --out file");
  ASSERT_EQ(from_file.code, 0) << from_file.out;
  EXPECT_EQ(newest("file").params(), newest("first").params());
  ASSERT_EQ(run("train " + small_ + kFrozen + "--out drawn").code, 0);
  EXPECT_NE(newest("drawn").params(), newest("first").params());
}

TEST_F(Program, ADamagedCheckpointToStartFromIsNamed) {
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=2 --out first").code, 0);
  const std::string damaged = step_files("first").back();
  fs::resize_file(directory_ / "first/checkpoints" / damaged, 1000);
  const Result tuned = run("train " + small_ + kFrozen + "--init-from first --quiet --out tuned");
  ASSERT_EQ(tuned.code, 0) << tuned.out;
  EXPECT_NE(tuned.out.find(damaged + ": not a sound safetensors file"), std::string::npos)
      << tuned.out;
  EXPECT_EQ(newest("tuned").params(), newest("first").params());
}

TEST_F(Program, AStochasticNetworkStartsFromADeterministicOne) {
  ASSERT_EQ(run("train " + small_ + "--set net.hidden=20d,10d --set train.epochs=1 --out a").code,
            0);
  ASSERT_EQ(run("train " + small_ + kFrozen + "--init-from a --out b").code, 0);
  EXPECT_EQ(newest("b").params(), newest("a").params());
  EXPECT_TRUE(newest("b").network().trains_s());
  // Which is network B: A's weights tested with units drawn.
  ASSERT_EQ(run("eval a --set eval.as_stochastic=true > a.txt").code, 0);
  ASSERT_EQ(run("eval b > b.txt").code, 0);
  EXPECT_EQ(system(("cd '" + directory_.string() + "' && cmp a.txt b.txt").c_str()), 0);
}

TEST_F(Program, WeightsThatDoNotFitAreRefused) {
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=1 --out first").code, 0);
  const Result other = run("train --set net.hidden=30s,10s --init-from first --out other");
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.out.find("392-20s-10s-392 bernoulli"), std::string::npos) << other.out;
  EXPECT_FALSE(fs::exists(directory_ / "other"));
  // A's weights make B, but B's do not make A.
  EXPECT_EQ(run("train --set net.hidden=20d,10d --init-from first --out other").code, 2);
  EXPECT_EQ(run("train " + small_ + "--init-from nowhere --out other").code, 2);
  EXPECT_FALSE(fs::exists(directory_ / "other"));
}

TEST_F(Program, AResumedRunNeedsTheOtherNoMore) {
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=1 --out first").code, 0);
  const std::string tuned =
      "train " + small_ + "--set train.epochs=2 --init-from first --out tuned";
  ASSERT_EQ(run(tuned).code, 0);
  const std::vector<float> params = newest("tuned").params();
  fs::remove_all(directory_ / "first");
  // Back to the first epoch: a finished run would end at once and need nothing.
  ASSERT_TRUE(fs::remove(RunDirectory(directory_ / "tuned").steps().front()));
  ASSERT_EQ(newest("tuned").state.epoch, 1);
  EXPECT_EQ(run(tuned + " --resume").code, 0);
  EXPECT_EQ(newest("tuned").params(), params);
}

}  // namespace
}  // namespace sfnn
