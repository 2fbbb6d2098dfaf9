// A program of one's own: it trains, stops and resumes with the engine alone, without the commands.
#include "host/run/training_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/devices/registry.hpp"
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

}  // namespace
}  // namespace sfnn
