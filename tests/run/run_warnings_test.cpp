// Numbers that have gone bad stop a run; units and particles that have, are reported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/formats/atomic_file.hpp"
#include "tests/support/program.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

using RunWarnings = Program;

constexpr std::size_t kMaxPage = 1 << 24;  // bytes of a report

TEST_F(RunWarnings, NumbersThatAreNotFiniteStopTheRunAndAreNeverSaved) {
  const std::string options = small_ +
                              "--set train.epochs=30 --set train.batch=40 --set "
                              "train.save_steps=1 --set train.warmup_epochs=0 ";
  const Result loss = run("train " + options + "--set train.learning_rate=1e37 --out loss");
  EXPECT_EQ(loss.code, 1) << loss.out;
  const Checkpoint last = newest("loss");  // which does not load what is not finite
  EXPECT_GT(last.state.step, 0);
  EXPECT_THAT(loss.out, testing::HasSubstr("sfnn: step " + std::to_string(last.state.step + 1) +
                                           ": no longer finite: C_hat"))
      << "the step after the last one saved";

  const Result weights = run("train " + options + "--set train.learning_rate=1e39 --out weights");
  EXPECT_EQ(weights.code, 1) << weights.out;
  EXPECT_THAT(weights.out,
              testing::ContainsRegex("step 1: no longer finite: .*weight.*layer1.W_s"));
  EXPECT_FALSE(fs::exists(directory_ / "weights/checkpoints/latest"));

  // Within an epoch, and far from any save.
  const Result within = run("train " + small_ +
                            "--set train.batch=20 --set data.valid=0 --set train.warmup_epochs=0 "
                            "--set train.learning_rate=1e37 --out within");
  EXPECT_EQ(within.code, 1) << within.out;
  EXPECT_THAT(within.out, testing::ContainsRegex("sfnn: step [0-9]: no longer finite: C_hat"));

  // In an epoch's last step: before it is validated, tested or written of.
  const Result epoch = run("train " + small_ +
                           "--set train.batch=400 --set train.warmup_epochs=0 --set "
                           "train.learning_rate=1e39 --out epoch");
  EXPECT_EQ(epoch.code, 1) << epoch.out;
  EXPECT_THAT(epoch.out, testing::ContainsRegex("step 1: no longer finite: .*weight.*layer1.W_s"));
  EXPECT_FALSE(fs::exists(directory_ / "epoch/metrics.jsonl"));
}

TEST_F(RunWarnings, UnitsThatAreNoLongerRandomAreReported) {
  const Result result = run("train " + small_ +
                            "--set net.init_scale=1e6 --set train.learning_rate=0 --set "
                            "train.epochs=2 --out here");
  ASSERT_EQ(result.code, 0) << result.out;
  const std::string warning = "hidden layer 1: all units have become deterministic";
  const std::size_t said = result.out.find("warning: " + warning);
  EXPECT_NE(said, std::string::npos) << result.out;
  EXPECT_EQ(result.out.find(warning, said + 20), std::string::npos) << "once is enough";
  ASSERT_EQ(run("report here").code, 0);
  EXPECT_THAT(read_file(directory_ / "here/report.html", kMaxPage),
              testing::AllOf(testing::HasSubstr(warning), testing::HasSubstr("in 2 of 2 epochs")));
}

TEST_F(RunWarnings, ParticlesThatHaveCollapsedAreReported) {
  const Result result = run("train " + small_ +
                            "--set net.hidden=100n+100d --set net.init_scale=1000 --set "
                            "train.learning_rate=0 --set train.epochs=1 --out here");
  ASSERT_EQ(result.code, 0) << result.out;
  const std::string warning = "the particles have collapsed: one of 4 has all the weight";
  EXPECT_THAT(result.out, testing::HasSubstr("warning: " + warning));
  ASSERT_EQ(run("report here").code, 0);
  EXPECT_THAT(read_file(directory_ / "here/report.html", kMaxPage), testing::HasSubstr(warning));
}

}  // namespace
}  // namespace sfnn
