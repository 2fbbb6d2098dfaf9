// A program of one's own: it trains, stops and resumes with the engine alone, without the commands.
#include "host/run/training_run.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/base/error.hpp"
#include "host/devices/registry.hpp"
#include "host/run/records.hpp"
#include "host/run/test_figures.hpp"
#include "tests/support/small_data.hpp"
#include "tests/support/temporary_directory.hpp"

namespace sfnn {
namespace {

class Listener : public Progress {
 public:
  void epoch(const ProgressFigures& figures, double) override { epochs.push_back(figures.epoch); }
  std::vector<std::int64_t> epochs;
};

class TrainingRunTest : public testing::Test {
 protected:
  TrainingRunTest() {
    config_.net.hidden = {{.n_s = 3}};
    config_.train.batch = 4;
    config_.train.epochs = 3;
    config_.train.particles = config_.eval.particles = 2;
    data_.valid = data_.test = small_examples(4, 4, 3, Output::bernoulli, 2);
  }
  TrainingRun run_in(const char* name, const RunOptions& options = {}) {
    sfnn::Run run(path_.path() / name);
    if (run.config()) run.open([](const std::string& line) { ADD_FAILURE() << line; });
    return TrainingRun(*backend_, config_, options, data_, std::move(run), listener_);
  }
  std::vector<float> newest(const char* name) const {
    return RunDirectory(path_.path() / name).newest([](const std::string&) {})->params();
  }

  const TemporaryDirectory path_;
  const std::unique_ptr<Backend> backend_ = make_backend({.device = "cpu", .threads = 1});
  DataSet data_ = small_data(12, 4, 3, Output::bernoulli);
  Config config_;
  Listener listener_;
};

TEST_F(TrainingRunTest, StopsWhenToldAndGoesOnAsIfItHadNot) {
  TrainingRun whole = run_in("whole");
  whole.start();
  EXPECT_EQ(whole.train(), TrainingRun::End::finished);
  EXPECT_THAT(listener_.epochs, testing::ElementsAre(1, 2, 3));
  listener_.epochs.clear();
  {
    int steps = 0;
    TrainingRun first = run_in("halves", {.stop = [&] { return ++steps == 5; }});
    first.start();
    EXPECT_EQ(first.train(), TrainingRun::End::stopped);
    EXPECT_EQ(first.trainer().step(), 5);
  }
  TrainingRun second = run_in("halves");
  second.resume();
  EXPECT_EQ(second.train(), TrainingRun::End::finished);
  EXPECT_THAT(listener_.epochs, testing::ElementsAre(1, 2, 3));
  EXPECT_EQ(newest("halves"), newest("whole"));
  EXPECT_EQ(second.test()->nll, whole.test()->nll);
}

TEST_F(TrainingRunTest, EpochsAreRecordedInParts) {
  config_.train.batch = 5;  // 5, 5 and 2 of 12 examples
  {
    TrainingRun whole = run_in("whole");
    whole.start();
    whole.train();
  }
  {
    int steps = 0;
    TrainingRun first = run_in("halves", {.stop = [&] { return ++steps == 5; }});
    first.start();
    EXPECT_EQ(first.train(), TrainingRun::End::stopped) << "within an epoch";
  }
  TrainingRun second = run_in("halves");
  second.resume();
  second.train();
  const auto whole = read_epochs(path_.path() / "whole/metrics.jsonl"),
             halves = read_epochs(path_.path() / "halves/metrics.jsonl");
  ASSERT_EQ(whole.size(), 3u);
  ASSERT_EQ(halves.size(), 3u);
  for (std::size_t e = 0; e < whole.size(); ++e) {
    const std::vector<double>& parts = whole[e].train_c_hat_within;
    ASSERT_EQ(parts.size(), 3u) << "fewer than ten steps: one part per step";
    EXPECT_NEAR((5 * parts[0] + 5 * parts[1] + 2 * parts[2]) / 12, *whole[e].train_c_hat, 1e-6);
    EXPECT_EQ(halves[e].train_c_hat_within, parts);
  }
}

TEST_F(TrainingRunTest, TellsOfTheStartAndOfEachEpoch) {
  std::vector<std::int64_t> told;
  std::vector<std::size_t> written;
  TrainingRun run = run_in("told", {.epoch_ended = [&](const TrainingRun& training) {
                             told.push_back(training.numbers().epoch);
                             written.push_back(read_epochs(training.directory().metrics()).size());
                           }});
  run.start();
  run.train();
  EXPECT_THAT(told, testing::ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(written, testing::ElementsAre(0, 1, 2, 3)) << "the record is there";
}

// The best is written first, with the state at that point; the newest has all that resuming needs.
TEST_F(TrainingRunTest, BestAndNewestOfAnEpochAreTheSameWeights) {
  config_.train.epochs = 1;
  TrainingRun run = run_in("one");
  run.start();
  run.train();
  const Checkpoint best = load_checkpoint(run.directory().best());
  EXPECT_EQ(best.params(), newest("one"));
  EXPECT_EQ(best.state.epoch, 1);
  EXPECT_EQ(best.state.best_epoch, 1);
  EXPECT_EQ(RunDirectory(run.directory()).newest([](const std::string&) {})->state.best_valid_nll,
            best.state.best_valid_nll);
}

// --- training longer -----------------------------------------------------------------------------

class TrainingLonger : public TrainingRunTest {
 protected:
  void train_in(const char* name, const RunOptions& options = {}) {
    TrainingRun run = run_in(name, options);
    if (run.directory().holds_run()) {
      run.resume();
    } else {
      run.start();
    }
    run.train();
  }
  TrainState state(const char* name) const {
    return RunDirectory(path_.path() / name).newest([](const std::string&) {})->state;
  }
};

TEST_F(TrainingLonger, IsTheSameWhereverItWasStopped) {
  for (const ScheduleKind schedule : {ScheduleKind::paper, ScheduleKind::constant}) {
    const std::string name(to_string(schedule));
    config_.train.schedule = schedule;
    config_.train.optimizer = OptimizerKind::adam;
    config_.train.ema = 0.9;
    config_.train.epochs = 3;
    train_in(name.c_str());
    train_in((name + "-stopped").c_str());
    EXPECT_EQ(state(name.c_str()).step, 9);
    config_.train.epochs = 6;
    train_in(name.c_str());
    int steps = 0;
    train_in((name + "-stopped").c_str(), {.stop = [&] { return ++steps == 4; }});
    EXPECT_EQ(state((name + "-stopped").c_str()).step, 13);
    train_in((name + "-stopped").c_str());
    EXPECT_EQ(state(name.c_str()).step, 18);
    EXPECT_EQ(state(name.c_str()).tail_step, 9);
    EXPECT_EQ(state(name.c_str()).networks, state((name + "-stopped").c_str()).networks);
    EXPECT_EQ(read_epochs(RunDirectory(path_.path() / name).metrics()).size(), 6u);
  }
}

// Killed between the new config and the next checkpoint, it finds the old one and the same tail.
TEST_F(TrainingLonger, BeginsItsTailAgainAfterAKill) {
  train_in("whole");
  train_in("killed");
  config_.train.epochs = 5;
  config_.train.learning_rate = 0.05;
  {
    TrainingRun killed = run_in("killed");
    killed.resume();  // and no step
  }
  EXPECT_EQ(RunDirectory(path_.path() / "killed").config().train.epochs, 5);
  train_in("killed");
  train_in("whole");
  EXPECT_EQ(state("whole").networks, state("killed").networks);
}

TEST_F(TrainingLonger, AStoppedRunGetsANewTailToo) {
  int steps = 0;
  train_in("stopped", {.stop = [&] { return ++steps == 5; }});
  config_.train.epochs = 2;
  config_.train.warmup_epochs = 0;
  TrainingRun run = run_in("stopped");
  run.resume();
  EXPECT_EQ(run.trainer().learning_rate(5), config_.train.learning_rate);
  EXPECT_EQ(run.train(), TrainingRun::End::finished);
  EXPECT_EQ(state("stopped").step, 6);
}

TEST_F(TrainingLonger, FewerEpochsThanAreDoneAreRefused) {
  train_in("run");
  config_.train.epochs = 2;
  TrainingRun run = run_in("run");
  EXPECT_THROW(run.resume(), ConfigError);
  EXPECT_EQ(RunDirectory(path_.path() / "run").config().train.epochs, 3);
}

// --- patience ------------------------------------------------------------------------------------

// At a rate of zero no epoch is better than the first.
TEST_F(TrainingLonger, PatienceEndsARunAndTestsItsBest) {
  config_.train.learning_rate = 0;
  config_.train.epochs = 9;
  config_.train.patience = 2;
  {
    TrainingRun run = run_in("run");
    run.start();
    EXPECT_EQ(run.train(), TrainingRun::End::finished);
    ASSERT_TRUE(run.best_test());
    EXPECT_EQ(run.best_epoch(), 1);
    EXPECT_EQ(run.best_test()->nll, run.test()->nll);
  }
  EXPECT_EQ(state("run").epoch, 3);
  const auto epochs = read_epochs(RunDirectory(path_.path() / "run").metrics());
  EXPECT_EQ(epochs.size(), 3u);
  EXPECT_TRUE(epochs.back().test_nll && epochs.back().best_test_nll);
  sfnn::Run ended(path_.path() / "run");
  ended.look([](const std::string&) {});
  EXPECT_TRUE(ended.is_finished(config_));
  config_.train.epochs = 10;
  EXPECT_FALSE(ended.is_finished(config_));
  train_in("run");
  EXPECT_EQ(state("run").epoch, 5) << "a continued run gets its patience anew";
  config_.train.patience = 0;
  train_in("run");
  EXPECT_EQ(state("run").epoch, 10);
}

// With a validation every second epoch, those between are not counted against it.
TEST_F(TrainingLonger, PatienceIsLostOnlyAtAValidation) {
  config_.train.learning_rate = 0;
  config_.train.epochs = 9;
  config_.train.patience = 1;
  config_.eval.every = 2;
  train_in("run");
  EXPECT_EQ(state("run").epoch, 4);
}

TEST_F(TrainingLonger, PatienceNeedsValidation) {
  config_.train.patience = 1;
  data_.valid = {};
  EXPECT_THROW(run_in("run"), ConfigError);
}

TEST_F(TrainingLonger, SaysHowManyStepsWereClipped) {
  for (const double clip : {0.0, 1e-6, 1e6}) {
    config_.train.clip_norm = clip;
    const std::string name = fmt::format("clip-{}", clip);
    train_in(name.c_str());
    const auto last = read_epochs(RunDirectory(path_.path() / name).metrics()).back();
    EXPECT_GT(last.gradient_norm, 1e-6);
    EXPECT_EQ(last.clipped, clip == 0 ? std::nullopt : std::optional(clip < 1 ? 1.0 : 0.0));
  }
}

// --- the average of the weights ------------------------------------------------------------------

TEST_F(TrainingLonger, AveragedWeightsHaveTheirOwnFigures) {
  config_.train.ema = 0.9;
  config_.train.learning_rate = 0.5;
  train_in("trained");
  config_.eval.weights = EvalWeights::average;
  TrainingRun averaged = run_in("averaged");
  averaged.start();
  averaged.train();
  const auto trained = read_epochs(RunDirectory(path_.path() / "trained").metrics()).back(),
             average = read_epochs(averaged.directory().metrics()).back();
  EXPECT_EQ(trained.average_valid_nll, average.average_valid_nll);
  EXPECT_EQ(trained.test_nll, average.test_nll);
  EXPECT_NE(trained.test_nll, trained.average_test_nll);
  EXPECT_EQ(averaged.test()->nll, average.average_test_nll);
  ASSERT_TRUE(average.average_test_nll_se && trained.test_nll_se);
  EXPECT_EQ(averaged.test()->standard_error.nll, average.average_test_nll_se);
  EXPECT_EQ(test_in(average, EvalWeights::average)->standard_error.nll,
            average.average_test_nll_se);
  EXPECT_NE(trained.test_nll_se, trained.average_test_nll_se);
  // Which epoch is the best is up to the weights that are judged.
  double best = 1e300;
  for (const EpochRecord& epoch : read_epochs(averaged.directory().metrics()))
    best = std::min(best, *epoch.average_valid_nll);
  EXPECT_EQ(load_checkpoint(averaged.directory().best()).state.best_valid_nll, best);
  const Checkpoint saved = *RunDirectory(averaged.directory()).newest([](const std::string&) {});
  EXPECT_EQ(saved.weights(EvalWeights::average), averaged.trainer().average()->download_params());
  EXPECT_NE(saved.weights(EvalWeights::average), saved.weights(EvalWeights::trained));
}

TEST_F(TrainingLonger, NoAverageNoSuchWeights) {
  train_in("run");
  const auto saved = RunDirectory(path_.path() / "run").newest([](const std::string&) {});
  EXPECT_THROW(saved->weights(EvalWeights::average), ConfigError);
}

}  // namespace
}  // namespace sfnn
