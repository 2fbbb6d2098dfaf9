// `sfnn sweep`: what it consists of, and that its runs are those that `sfnn train` makes.
#include "host/run/sweep.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/base/error.hpp"
#include "host/run/metrics.hpp"
#include "host/run/records.hpp"
#include "tests/support/trained_program.hpp"

namespace sfnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(SweepPlan, AGridHasEveryCombination) {
  EXPECT_THAT(grid_of({"a=1,2", "b=x"}),
              ElementsAre(ElementsAre("a=1", "b=x"), ElementsAre("a=2", "b=x")));
  EXPECT_EQ(grid_of({"a=1,2", "b=1,2,3"}).size(), 6u);
  EXPECT_THAT(grid_of({"net.hidden=[200s],[\"a,b\",c]"}),
              ElementsAre(ElementsAre("net.hidden=[200s]"), ElementsAre("net.hidden=[\"a,b\",c]")));
  EXPECT_THAT(
      grid_of({"train.learning_rate=0.01:0.1"}),
      ElementsAre(ElementsAre("train.learning_rate=0.1"), ElementsAre("train.learning_rate=0.03"),
                  ElementsAre("train.learning_rate=0.01")));
  EXPECT_THAT(grid_of({"net.hidden=20s,10s"}), ElementsAre(ElementsAre("net.hidden=20s,10s")))
      << "as in sfnn train";
  EXPECT_THAT(grid_of({}), ElementsAre(ElementsAre()));
}

TEST(SweepPlan, SeedsAreARangeOrAList) {
  EXPECT_THAT(parse_seeds("1..4"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(parse_seeds("7,1..2"), ElementsAre(7, 1, 2));
  for (const char* text : {"", "a", "4..1", "1..", "1.5", "-1", "1..9999999"})
    EXPECT_THROW(parse_seeds(text), ConfigError) << text;
}

TEST(SweepPlan, RunsAreNamedByWhatVaries) {
  const auto names = [](const SweepPlan& plan) {
    std::vector<std::string> result;
    for (const SweepRun& run : runs_of(plan)) result.push_back(run.name);
    return result;
  };
  SweepPlan plan{.points = grid_of({"train.estimator=G3,G5"}), .seeds = {1, 2}};
  EXPECT_THAT(names(plan), ElementsAre("estimator=G3_seed=1", "estimator=G3_seed=2",
                                       "estimator=G5_seed=1", "estimator=G5_seed=2"));
  plan = {.points = grid_of({"net.hidden=[20s],[20s,10s]", "data.seed=1,2"})};
  EXPECT_EQ(names(plan)[1], "hidden=20s_data.seed=2") << "data.seed is not the run's seed";
  plan = {.points = {{}}};
  EXPECT_THROW(runs_of(plan), ConfigError) << "nothing varies";
  plan = {.points = {{}}, .seeds = {1, 1}};
  EXPECT_THROW(runs_of(plan), ConfigError) << "two are the same";
  plan = {.points = {{"train.speed=1"}}, .seeds = {1}};
  EXPECT_THROW(runs_of(plan), ConfigError);
}

TEST(SweepPlan, TheSummaryIsMeanAndSpreadOverSeeds) {
  const SweepPlan plan{.points = grid_of({"train.estimator=G3,G5"}), .seeds = {1, 2}};
  const auto finished = [](double nll) {
    return SweepOutcome{.end = SweepOutcome::End::finished, .test = Evaluation{.nll = nll}};
  };
  const std::vector<SweepOutcome> outcomes = {
      finished(1), finished(3), finished(7), {.end = SweepOutcome::End::failed, .error = "no"}};
  const std::string table = summary_table(plan, outcomes);
  EXPECT_THAT(table, HasSubstr("train.estimator=G3       2  2.000 +- 1.414\n"));
  EXPECT_THAT(table, HasSubstr("train.estimator=G5  1 of 2           7.000\n"));
  EXPECT_THAT(summary_csv(plan, outcomes),
              HasSubstr("\"train.estimator=G3\",2,2,,,2,1.4142135623730951,"));
}

class SweepCommand : public TrainedProgram {
 protected:
  const std::string short_ = small_ + "--set train.epochs=2 ";

  std::vector<float> weights(const std::string& name) { return newest(name).params(); }
};

TEST_F(SweepCommand, ItsRunsAreThoseThatTrainMakes) {
  const std::string grid = "--set train.estimator=G3,G5 --seeds 1..2 --out s ";
  const Result sweep = run("sweep " + short_ + grid + "--jobs 3");
  ASSERT_EQ(sweep.code, 0) << sweep.out;
  EXPECT_THAT(sweep.out, HasSubstr("[4/4]"));
  EXPECT_THAT(sweep.out, HasSubstr("train.estimator=G5     2"));
  EXPECT_THAT(file("s/summary.csv"), HasSubstr("\"train.estimator=G5\",2,2,"));
  train("alone", "--set train.estimator=G5 --set seed=2");
  EXPECT_EQ(weights("s/estimator=G5_seed=2"), weights("alone"));
  EXPECT_NE(weights("s/estimator=G5_seed=1"), weights("alone"));

  EXPECT_EQ(run("sweep " + short_ + grid).code, 2) << "it holds a sweep already";
  EXPECT_EQ(run("sweep --resume --out s").code, 0);
  const Result other = run("sweep " + short_ + "--seeds 1..3 --resume --out s");
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.out, HasSubstr("another sweep"));
  EXPECT_EQ(run("sweep --seeds 1..3 --out alone").code, 2) << "that is a run";

  const Result report = run("report s --out page.html");
  ASSERT_EQ(report.code, 0) << report.out;
  const std::string page = file("page.html");
  for (const char* text : {"4 runs compared", "estimator=G5 (2 seeds)", "<h2>Seeds</h2>", "bands"})
    EXPECT_THAT(page, HasSubstr(text));
}

TEST_F(SweepCommand, ARunThatFailsLeavesTheOthersAlone) {
  const Result sweep =
      run("sweep " + short_ + "--set train.learning_rate=0.1,1e38 --jobs 2 --out s");
  EXPECT_EQ(sweep.code, 1) << sweep.out;
  EXPECT_THAT(sweep.out, HasSubstr("no longer finite"));
  EXPECT_THAT(sweep.out, HasSubstr("1 of 2 runs failed"));
  EXPECT_TRUE(fs::exists(directory_ / "s/learning_rate=0.1/samples.png"));
}

TEST_F(SweepCommand, StoppedOrKilledItGoesOnToTheSameBits) {
  const std::string sweep =
      "sweep " + small_ + "--set train.epochs=40 --seeds 1..3 --jobs 2 --out ";
  ASSERT_EQ(run(sweep + "whole").code, 0);
  const Result stopped =
      run("--version; timeout -s INT 0.6 '" SFNN_PROGRAM "' " + sweep + "s --resume");
  EXPECT_TRUE(stopped.code == 3 || stopped.code == 124 || stopped.code == 0) << stopped.out;
  run("--version; timeout -s KILL 0.4 '" SFNN_PROGRAM "' " + sweep + "s --resume");
  const Result resumed = run(sweep + "s --resume");
  ASSERT_EQ(resumed.code, 0) << resumed.out;
  for (int seed = 1; seed <= 3; ++seed) {
    const std::string name = fmt::format("/seed={}", seed);
    EXPECT_EQ(weights("s" + name), weights("whole" + name)) << seed;
  }
}

TEST_F(SweepCommand, JudgesTheWeightsThatTheConfigNames) {
  const Result sweep = run("sweep " + short_ +
                           "--set data.valid=20 --set train.ema=0.9 --set eval.weights=average "
                           "--seeds 1 --out s");
  ASSERT_EQ(sweep.code, 0) << sweep.out;
  double average = 1e300, trained = 1e300;
  for (const EpochRecord& epoch : read_epochs(directory_ / "s/seed=1/metrics.jsonl")) {
    average = std::min(average, *epoch.average_valid_nll);
    trained = std::min(trained, *epoch.valid_nll);
  }
  EXPECT_NE(average, trained);
  EXPECT_THAT(file("s/summary.csv"), HasSubstr(fmt::format(",{},", average)));
}

TEST_F(SweepCommand, EachRunMaySearchItsRate) {
  const Result sweep = run("sweep " + short_ + "--search-lr 0.03:0.1 --seeds 1..2 --out s");
  ASSERT_EQ(sweep.code, 0) << sweep.out;
  for (const char* name : {"s/seed=1", "s/seed=2"})
    EXPECT_EQ(read_metrics(directory_ / name / "search.jsonl").size(), 2u);
  EXPECT_EQ(run("sweep --resume --out s").code, 0);
}

TEST_F(SweepCommand, WhatCannotBeSweptIsRefusedBeforeAnythingIsTrained) {
  for (const char* arguments :
       {"--out s", "--seeds x --out s", "--set train.speed=1,2 --out s", "--seeds 1..2",
        "--resume --out nowhere", "--set train.estimator=G3,G9 --out s"}) {
    const Result refused = run(std::string("sweep ") + arguments);
    EXPECT_EQ(refused.code, 2) << arguments << refused.out;
    EXPECT_FALSE(fs::exists(directory_ / "s")) << arguments;
  }
  const Result list =
      run("sweep --set seed=1 --each 'train.estimator=G1 train.hidden_rate=0.05' "
          "--each train.estimator=G3 --dry-run --out s");
  EXPECT_THAT(list.out, HasSubstr("s/estimator=G1_hidden_rate=0.05\ns/estimator=G3\n"));
}

}  // namespace
}  // namespace sfnn
