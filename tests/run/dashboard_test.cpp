#include "host/run/dashboard.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/base/error.hpp"
#include "host/devices/registry.hpp"
#include "host/formats/atomic_file.hpp"
#include "host/formats/event_file.hpp"
#include "host/run/training_run.hpp"
#include "tests/support/small_data.hpp"
#include "tests/support/temporary_directory.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Warn kNoWarning = [](const std::string& line) { ADD_FAILURE() << line; };

std::vector<EventRecord> events_in(const RunDirectory& run) {
  return parse_events(read_file(run.events(), 1 << 20)).value();
}
std::vector<std::int64_t> steps_in(const RunDirectory& run) {
  std::vector<std::int64_t> steps;
  for (const EventRecord& event : events_in(run)) steps.push_back(event.step);
  return steps;
}

TEST(DashboardTags, FirstWordIsTheGroup) {
  EXPECT_EQ(tag_of("train_c_hat"), "train/c_hat");
  EXPECT_EQ(tag_of("valid_nll"), "valid/nll");
  EXPECT_EQ(tag_of("average_valid_nll"), "average/valid_nll");
  EXPECT_EQ(tag_of("learning_rate"), "train/learning_rate");
  EXPECT_EQ(tag_of("epoch"), "train/epoch");
}

class DashboardTest : public testing::Test {
 protected:
  DashboardTest() { run_.create(Config()); }
  void append(std::uint64_t epoch) const {
    append_record(run_.metrics(), {.epoch = epoch,
                                   .step = 10 * epoch,
                                   .train_c_hat = -1.0 * double(epoch),
                                   .seconds = 100.0 * double(epoch)});
  }

  const TemporaryDirectory folder_;
  RunDirectory run_{folder_.path() / "run"};
};

// The second session began with epoch 3: an hour later, and its seconds count from there.
TEST_F(DashboardTest, OldEpochsHaveTheTimesOfTheirSessions) {
  append_record(run_.sessions(), SessionRecord{.started = "2026-01-31 12:30 UTC", .step = 0});
  append_record(run_.sessions(), SessionRecord{.started = "2026-01-31 13:30 UTC", .step = 20});
  for (const std::uint64_t epoch : {1, 2, 3}) append(epoch);
  const Dashboard dashboard(run_, 30, kNoWarning);
  EXPECT_EQ(dashboard.events(), 3);
  constexpr double kStart = 1769862600;  // date -d '2026-01-31 12:30 UTC' +%s
  std::vector<double> times;
  for (const EventRecord& event : events_in(run_)) times.push_back(event.wall_time);
  EXPECT_THAT(times, ElementsAre(kStart + 100, kStart + 200, kStart + 3600 + 100));
}

TEST_F(DashboardTest, EventsStayUpToTheStepAndMissingOnesAreAdded) {
  append(1);
  {
    Dashboard dashboard(run_, 10, kNoWarning);
    const std::vector<LayerActivity> activity{{.layer = 1, .units = 4}};
    for (const std::uint64_t epoch : {2, 3, 4})
      dashboard.add({.epoch = epoch, .step = 10 * epoch}, activity, nullptr);
  }
  EXPECT_THAT(steps_in(run_), ElementsAre(10, 20, 30, 40));
  const std::string kept = events_in(run_)[1].bytes;  // with a histogram, which no record has
  EXPECT_THAT(kept, HasSubstr("p/layer1"));
  append(2);
  append(5);
  const Dashboard again(run_, 50, kNoWarning);
  EXPECT_THAT(steps_in(run_), ElementsAre(10, 20, 30, 40, 50));
  EXPECT_EQ(events_in(run_)[1].bytes, kept);
  const Dashboard earlier(run_, 20, kNoWarning);
  EXPECT_THAT(steps_in(run_), ElementsAre(10, 20));
}

TEST_F(DashboardTest, TornBytesAreCutOffBeforeTheNextEvent) {
  Dashboard dashboard(run_, 0, kNoWarning);
  dashboard.add({.epoch = 1, .step = 10}, {}, nullptr);
  const auto size = fs::file_size(run_.events());
  dashboard.add({.epoch = 2, .step = 20}, {}, nullptr);
  fs::resize_file(run_.events(), size + 7);  // killed while writing
  Dashboard resumed(run_, 10, kNoWarning);
  EXPECT_EQ(fs::file_size(run_.events()), size);
  fs::resize_file(run_.events(), size + 3);  // a full disk
  resumed.add({.epoch = 2, .step = 20}, {}, nullptr);
  EXPECT_THAT(steps_in(run_), ElementsAre(10, 20));
}

TEST_F(DashboardTest, RefusesWhatIsNoRunAndReplacesWhatIsNoEventFile) {
  EXPECT_THROW(write_dashboard(folder_.path() / "none", kNoWarning), ConfigError);
  append(1);
  write_file_atomically(run_.events(), "something else");
  std::string warned;
  const Dashboard dashboard(run_, 10, [&](const std::string& line) { warned += line; });
  EXPECT_THAT(warned, HasSubstr("is no event file"));
  EXPECT_THAT(steps_in(run_), ElementsAre(10));
}

// A run that is killed after any write and resumed has each step once, in order, and the weights
// of a run that had no dashboard.
TEST(DashboardOfARun, StepsRiseThroughStopsAndResumes) {
  const TemporaryDirectory folder;
  const auto backend = make_backend({.device = "cpu", .threads = 1});
  DataSet data = small_data(12, 4, 3, Output::bernoulli);
  data.valid = data.test = small_examples(4, 4, 3, Output::bernoulli, 2);
  Config config;
  config.net.hidden = {{.n_s = 3}};
  config.train.batch = 4;
  config.train.epochs = 4;
  config.train.particles = config.eval.particles = 2;
  config.save.every = 2;
  Progress silent;
  const auto train = [&](const char* name, const RunOptions& options) {
    sfnn::Run run(folder.path() / name);
    const bool goes_on = run.config().has_value();
    if (goes_on) run.open(kNoWarning);
    TrainingRun training(*backend, config, options, data, std::move(run), silent);
    goes_on ? training.resume() : training.start();
    training.train();
    return RunDirectory(training.directory().path());  // without its lock
  };
  int steps = 0;
  RunDirectory run = train("halves", {.stop = [&] { return ++steps == 7; }, .tensorboard = true});
  EXPECT_THAT(steps_in(run), ElementsAre(3, 6));
  run = train("halves", {});  // continues it without being told
  EXPECT_THAT(steps_in(run), ElementsAre(3, 6, 9, 12));
  EXPECT_THAT(events_in(run)[3].bytes, HasSubstr("test/nll"));
  const RunDirectory plain = train("plain", {});
  EXPECT_FALSE(fs::exists(plain.events()));
  EXPECT_EQ(plain.newest(kNoWarning)->params(), run.newest(kNoWarning)->params());
}

}  // namespace
}  // namespace sfnn
