// The rules by which a run's files come and go.
#include "host/run/run_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <functional>

#include "host/base/error.hpp"
#include "host/formats/atomic_file.hpp"
#include "host/model/initial_params.hpp"
#include "host/run/records.hpp"
#include "tests/support/temporary_directory.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class RunDirectoryTest : public testing::Test {
 protected:
  static Checkpoint at_step(std::int64_t step) {
    Checkpoint checkpoint;
    checkpoint.config.net.hidden = {parse_layer("2s")};
    NetworkState& P = checkpoint.state.P();
    P.spec = {.D_in = 1, .hidden = checkpoint.config.net.hidden, .D_out = 1};
    P.arrays = {{"params", initial_params(P.spec, 1)}, {"velocity", initial_params(P.spec, 2)}};
    checkpoint.tiling = {.tile = 1, .parts = 1};
    checkpoint.state.step = step;
    return checkpoint;
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path_ / "checkpoints"))
      names.push_back(entry.path().filename().string());
    return names;
  }
  std::int64_t newest_step() {
    return run_.newest([&](const std::string& line) { warnings_ += line; })->state.step;
  }
  static std::string error_of_lock(RunDirectory run) {
    try {
      run.lock();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  TemporaryDirectory directory_;
  const fs::path path_ = directory_.path() / "run";
  RunDirectory run_{path_};
  std::string warnings_;
};

TEST_F(RunDirectoryTest, ANewDirectoryIsTheFirstThatNobodyUses) {
  const fs::path runs = directory_.path() / "runs";
  fs::create_directories(runs / "a-1");
  write_file_atomically(runs / "a-1/notes.txt", "mine");
  const RunDirectory second = RunDirectory::claim_new(runs, "a");
  EXPECT_EQ(second.path(), runs / "a-2");
  const RunDirectory third = RunDirectory::claim_new(runs, "a");
  EXPECT_EQ(third.path(), runs / "a-3") << "a-2 is held";
  fs::create_directories(runs / "a-4");
  EXPECT_EQ(RunDirectory::claim_new(runs, "a").path(), runs / "a-4");
  EXPECT_EQ(RunDirectory::claim_new(runs, "a").path(), runs / "a-4") << "released without a run";
}

TEST_F(RunDirectoryTest, KeepsTheNewestTwoAndTheBest) {
  run_.save_best(at_step(100));
  for (std::int64_t step : {100, 200, 99'999'999, 100'000'000}) run_.save(at_step(step));
  EXPECT_THAT(files(),
              UnorderedElementsAre("best.safetensors", "latest", "step-99999999.safetensors",
                                   "step-100000000.safetensors"));
  EXPECT_EQ(newest_step(), 100'000'000) << "steps are compared as numbers";
  EXPECT_EQ(read_file(path_ / "checkpoints/latest", 100), "step-100000000.safetensors\n");
}

TEST_F(RunDirectoryTest, KeepsAsManyAsAsked) {
  for (std::int64_t step = 1; step <= 9; ++step) {
    Checkpoint checkpoint = at_step(step);
    checkpoint.config.save.keep = 5;
    run_.save(checkpoint);
  }
  EXPECT_EQ(files().size(), 5u + 1);  // and latest
}

// A file that was put aside under a similar name is not a checkpoint of the run.
TEST_F(RunDirectoryTest, RemovesNothingThatItDidNotWrite) {
  run_.save(at_step(10));
  const fs::path checkpoints = path_ / "checkpoints";
  const std::vector<std::string> mine = {"step-1.safetensors", "step-00000001-good.safetensors",
                                         "step-.safetensors", "step-00000002.safetensors.bak",
                                         "step--0000003.safetensors"};
  for (const std::string& name : mine) std::ofstream(checkpoints / name) << "mine";
  fs::create_directory(checkpoints / "step-00000003.safetensors");
  std::ofstream(directory_.path() / "elsewhere") << "mine";
  fs::create_symlink(directory_.path() / "elsewhere", checkpoints / "step-00000004.safetensors");
  for (std::int64_t step : {20, 30, 40}) run_.save(at_step(step));
  for (const std::string& name : mine) EXPECT_TRUE(fs::exists(checkpoints / name)) << name;
  EXPECT_TRUE(fs::exists(checkpoints / "step-00000003.safetensors"));
  EXPECT_TRUE(fs::is_symlink(checkpoints / "step-00000004.safetensors"));
  EXPECT_FALSE(fs::exists(checkpoints / "step-00000020.safetensors"));
  EXPECT_EQ(newest_step(), 40);
}

TEST_F(RunDirectoryTest, RemovesWhatAKilledRunWasWritingAndNothingThatLooksLikeIt) {
  fs::create_directories(path_ / "checkpoints");
  const auto put = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names) std::ofstream(path_ / name) << "mine";
  };
  const std::vector<std::string> stale = {
      "config.toml.17-0.tmp", "metrics.jsonl.17-1.tmp", "checkpoints/latest.17-0.tmp",
      "checkpoints/best.safetensors.17-0.tmp", "checkpoints/step-00000010.safetensors.17-0.tmp"};
  const std::vector<std::string> mine = {"config.toml.tmp", "thesis.17-0.tmp",
                                         "report.html.17-0.tmp", "checkpoints/best.safetensors.tmp",
                                         "checkpoints/step-1.safetensors.17-0.tmp"};
  put(stale);
  put(mine);
  { RunDirectory(path_).lock(); }
  for (const std::string& name : stale)
    EXPECT_TRUE(fs::exists(path_ / name)) << name << ", where there is no run";
  { RunDirectory(path_).create({}); }
  run_.lock();
  run_.save(at_step(10));
  run_.save_best(at_step(10));
  for (const std::string& name : stale) EXPECT_FALSE(fs::exists(path_ / name)) << name;
  for (const std::string& name : mine) EXPECT_TRUE(fs::exists(path_ / name)) << name;
}

TEST_F(RunDirectoryTest, AFileInItsPlaceIsNamed) {
  std::ofstream{path_};
  try {
    run_.create({});
    ADD_FAILURE() << "no error";
  } catch (const SaveError& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot make the directory " + path_.string()));
  }
}

TEST_F(RunDirectoryTest, AFileInPlaceOfItsCheckpointsIsRefusedAtTheStart) {
  fs::create_directories(path_);
  std::ofstream(path_ / "checkpoints") << "mine";
  EXPECT_THAT(error_of_lock(run_), HasSubstr("checkpoints exists and is no directory"));
  EXPECT_THROW(run_.create({}), ConfigError);
  EXPECT_THROW(run_.begin_search(/*is_known=*/false), ConfigError);
  EXPECT_EQ(read_file(path_ / "checkpoints", 10), "mine");
  EXPECT_FALSE(run_.holds_run());
  EXPECT_FALSE(fs::exists(path_ / "lock"));
}

// Without a config they are no run's, and a new one would remove or replace them.
TEST_F(RunDirectoryTest, ANewRunLeavesTheFilesOfAnotherAlone) {
  for (const char* name :
       {"checkpoints/step-00000001.safetensors", "checkpoints/best.safetensors",
        "checkpoints/latest", "metrics.jsonl", "sessions.jsonl", "samples.png", "report.html",
        "play.html", "data.jsonl", "search.json", "search.jsonl"}) {
    const fs::path file = path_ / name;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << "mine";
    try {
      run_.create({});
      ADD_FAILURE() << name;
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr(file.string()), HasSubstr("another --out")));
    }
    EXPECT_THROW(run_.begin_search(/*is_known=*/false), ConfigError) << name;
    EXPECT_FALSE(run_.holds_run()) << name;
    EXPECT_EQ(read_file(file, 10), "mine");
    EXPECT_FALSE(fs::exists(path_ / "lock")) << "nor is anything left among them";
    fs::remove(file);
  }
  run_.create({});
  EXPECT_TRUE(run_.holds_run());
}

// A run that went on from the checkpoint before a damaged one keeps as many whole ones as ever.
TEST_F(RunDirectoryTest, ADamagedLaterCheckpointDoesNotCount) {
  for (std::int64_t step : {10, 20}) run_.save(at_step(step));
  fs::resize_file(path_ / "checkpoints/step-00000020.safetensors", 100);
  EXPECT_EQ(newest_step(), 10);
  EXPECT_THAT(warnings_, AllOf(HasSubstr("step-00000020"), HasSubstr("skipped")));
  EXPECT_THAT(warnings_, HasSubstr("for the checkpoint before it"));
  for (std::int64_t step : {11, 12}) run_.save(at_step(step));
  EXPECT_THAT(files(),
              UnorderedElementsAre("latest", "step-00000011.safetensors",
                                   "step-00000012.safetensors", "step-00000020.safetensors"));
}

TEST_F(RunDirectoryTest, ADamagedOldestCheckpointHasNoneBeforeIt) {
  run_.save(at_step(10));
  fs::resize_file(path_ / "checkpoints/step-00000010.safetensors", 100);
  EXPECT_FALSE(run_.newest([&](const std::string& line) { warnings_ += line; }));
  EXPECT_THAT(warnings_,
              AllOf(HasSubstr("there is none before it"), testing::Not(HasSubstr("skipped"))));
}

TEST_F(RunDirectoryTest, AHugeFileIsNamedAndPassedOver) {
  run_.save(at_step(10));
  const fs::path huge = path_ / "checkpoints/step-00000099.safetensors";
  std::ofstream{huge};
  fs::resize_file(huge, std::uintmax_t(900) << 30);  // sparse: it takes no room
  EXPECT_EQ(newest_step(), 10);
  EXPECT_THAT(warnings_, AllOf(HasSubstr(huge.string()), HasSubstr("skipped")));
}

// A kill between an epoch's line of metrics and its checkpoint is no loss.
TEST_F(RunDirectoryTest, KnowsWhetherACheckpointWasLost) {
  Config config;
  config.save.every = 3;
  run_.create(config);
  const auto is_lost = [&] {
    try {
      run_.require_never_saved();
    } catch (const DataError&) {
      return true;
    }
    return false;
  };
  // Ten steps per epoch.
  const auto is_lost_after = [&](std::uint64_t epochs) {
    fs::remove(run_.metrics());
    for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch)
      append_record(run_.metrics(), EpochRecord{.epoch = epoch, .step = 10 * epoch});
    return is_lost();
  };
  EXPECT_FALSE(is_lost_after(0));
  EXPECT_FALSE(is_lost_after(3));
  EXPECT_TRUE(is_lost_after(4));
  config.save.steps = 20;  // these are ends of epochs, at which save_every alone decides
  write_file_atomically(path_ / "config.toml", to_toml(config));
  EXPECT_FALSE(is_lost_after(3));
  config.save.steps = 15;
  write_file_atomically(path_ / "config.toml", to_toml(config));
  EXPECT_FALSE(is_lost_after(1));
  EXPECT_TRUE(is_lost_after(2));

  EXPECT_FALSE(is_lost_after(0));
  run_.save(at_step(10));
  fs::remove(path_ / "checkpoints/step-00000010.safetensors");
  EXPECT_TRUE(is_lost()) << "the pointer tells";
}

// The pointer comes after what it points at.
TEST_F(RunDirectoryTest, ACheckpointThatCannotBeWrittenIsNotTheLatest) {
  run_.save(at_step(10));
  fs::create_directories(path_ / "checkpoints/step-00000020.safetensors/occupied");
  EXPECT_THROW(run_.save(at_step(20)), SaveError);
  EXPECT_EQ(read_file(path_ / "checkpoints/latest", 100), "step-00000010.safetensors\n");
}

// Nor does the one before go until the new one and its pointer are in place.
TEST_F(RunDirectoryTest, ACheckpointThatCannotBeWrittenLeavesTheOneBefore) {
  for (const char* obstacle : {"step-00000020.safetensors", "latest"}) {
    const auto save = [&](std::int64_t step) {
      Checkpoint checkpoint = at_step(step);
      checkpoint.config.save.keep = 1;
      run_.save(checkpoint);
    };
    save(10);
    fs::remove(path_ / "checkpoints" / obstacle);
    fs::create_directories(path_ / "checkpoints" / obstacle / "occupied");
    EXPECT_THROW(save(20), SaveError);
    EXPECT_NO_THROW(load_checkpoint(path_ / "checkpoints/step-00000010.safetensors")) << obstacle;
    fs::remove_all(path_ / "checkpoints");
  }
}

// Nothing is read through the pointer: it is for people and scripts.
TEST_F(RunDirectoryTest, AHostileLatestLeadsNowhere) {
  run_.save(at_step(10));
  save_checkpoint(directory_.path() / "step-00000099.safetensors", at_step(99));
  for (const char* text : {"../../step-00000099.safetensors\n", "/etc/passwd\n", ""}) {
    write_file_atomically(path_ / "checkpoints/latest", text);
    EXPECT_EQ(newest_step(), 10);
  }
  run_.save(at_step(11));
  EXPECT_EQ(newest_step(), 11);
}

// --- the lock ----------------------------------------------------------------------------------

TEST_F(RunDirectoryTest, ASecondRunIsKeptOutWhileTheFirstLives) {
  {
    RunDirectory first(path_);
    first.lock();
    first.lock();  // no harm
    EXPECT_THAT(error_of_lock(run_),
                AllOf(HasSubstr(path_.string()), HasSubstr("in use by process"),
                      HasSubstr(std::to_string(::getpid())), HasSubstr("--out")));
    EXPECT_THROW(run_.create({}), ConfigError);
    EXPECT_FALSE(run_.holds_run());
  }
  EXPECT_EQ(error_of_lock(run_), "no error");
}

// Other programs use such names, too.
TEST_F(RunDirectoryTest, AFileThatIsNoLockIsLeftAsItIs) {
  fs::create_directories(path_);
  const fs::path lock = path_ / "lock", other = directory_.path() / "other";
  for (const char* text : {"mine", "process ", "process 12 of the thesis", "process 12\n"}) {
    write_file_atomically(lock, text);
    EXPECT_THAT(error_of_lock(run_), AllOf(HasSubstr(lock.string()), HasSubstr("no lock")));
    EXPECT_EQ(read_file(lock, 100), text);
  }
  write_file_atomically(other, "process 12");
  fs::remove(lock);
  fs::create_hard_link(other, lock);
  EXPECT_THAT(error_of_lock(run_), HasSubstr("no lock"));
  EXPECT_EQ(read_file(other, 100), "process 12");
  fs::remove(other);
  EXPECT_EQ(error_of_lock(run_), "no error");
}

TEST_F(RunDirectoryTest, AKilledProcessLeavesNoLock) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    RunDirectory run(path_);
    run.lock();
    if (::write(ready[1], "x", 1) != 1) ::_exit(1);
    while (true) ::pause();
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_THAT(error_of_lock(run_), HasSubstr("process " + std::to_string(child)));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(error_of_lock(run_), "no error");
}

TEST_F(RunDirectoryTest, CheckpointsThatLieElsewhereAreRefused) {
  fs::create_directories(directory_.path() / "elsewhere");
  fs::create_directories(path_);
  fs::create_directory_symlink(directory_.path() / "elsewhere", path_ / "checkpoints");
  EXPECT_THAT(error_of_lock(run_), HasSubstr("is a link"));
}

TEST_F(RunDirectoryTest, NothingIsReadThroughALink) {
  run_.create({});
  run_.save(at_step(10));
  run_.save_best(at_step(10));
  const auto error_of = [](const std::function<void()>& read) -> std::string {
    try {
      read();
    } catch (const DataError& error) {
      return error.what();
    }
    return "no error";
  };
  const std::pair<const char*, std::function<void()>> readers[] = {
      {"config.toml", [&] { run_.config(); }},
      {"checkpoints/best.safetensors", [&] { open_checkpoint(path_, /*best=*/true, {}); }},
      {"checkpoints", [&] { open_checkpoint(path_, /*best=*/true, {}); }},
      {"checkpoints", [&] { open_checkpoint(path_, /*best=*/false, {}); }}};
  for (const auto& [name, read] : readers) {
    EXPECT_EQ(error_of(read), "no error") << name;
    const fs::path elsewhere = directory_.path() / "elsewhere";
    fs::rename(path_ / name, elsewhere);
    fs::create_symlink(elsewhere, path_ / name);
    EXPECT_THAT(error_of(read), AllOf(HasSubstr((path_ / name).string()), HasSubstr("is a link")));
    fs::remove(path_ / name);
    fs::rename(elsewhere, path_ / name);
  }
}

TEST_F(RunDirectoryTest, TheLockFollowsNoLink) {
  fs::create_directories(path_);
  std::ofstream(directory_.path() / "precious") << "mine";
  fs::create_symlink(directory_.path() / "precious", path_ / "lock");
  EXPECT_THROW(run_.lock(), SaveError);
  EXPECT_EQ(read_file(directory_.path() / "precious", 10), "mine");
}

}  // namespace
}  // namespace sfnn
