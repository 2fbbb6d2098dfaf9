// What a run keeps on disk: under a second writer, with checkpoints that are lost, damaged or
// another run's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "host/formats/atomic_file.hpp"
#include "host/run/metrics.hpp"
#include "tests/support/program.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

using SavedRuns = Program;

constexpr std::size_t kMaxFile = 1 << 24;  // bytes

TEST_F(SavedRuns, TwoRunsInOneDirectoryAreKeptApart) {
  const std::string options = small_ + "--set train.epochs=100000 --out here";
  const Result second =
      run("train " + options +
          " & pid=$!; while [ ! -e here/checkpoints/latest ]; do sleep 0.01; done; '" SFNN_PROGRAM
          "' train --resume --out here 2>&1; code=$?; kill -KILL $pid; wait $pid; exit $code; #");
  EXPECT_EQ(second.code, 2) << second.out;
  EXPECT_NE(second.out.find("here is in use by process"), std::string::npos) << second.out;
  // The killed one has left no lock behind.
  const Result third =
      run("train --resume --out here & pid=$!; while [ $(wc -l <here/sessions.jsonl) -lt 2 ]; do "
          "sleep 0.01; done; kill -TERM $pid; wait $pid; exit $?; #");
  EXPECT_EQ(third.code, 3) << third.out;
}

TEST_F(SavedRuns, SavesWithinAnEpochAndKeepsAsManyAsAsked) {
  ASSERT_EQ(run("train " + small_ +
                "--set train.batch=40 --set train.epochs=2 --set train.save_steps=3 "
                "--set train.keep=4 --out often")
                .code,
            0);
  std::vector<std::string> expected;  // of 3, 6, 9, 10; 12, 15, 18, 20
  for (const char* step : {"12", "15", "18", "20"})
    expected.push_back("step-000000" + std::string(step) + ".safetensors");
  EXPECT_EQ(step_files("often"), expected);
}

// Killed after the first epoch's line was written and before its checkpoint was.
TEST_F(SavedRuns, ARunWithoutACheckpointStartsItsMetricsAnew) {
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=2 --out here").code, 0);
  const auto params = newest("here").params();
  const fs::path metrics = directory_ / "here/metrics.jsonl";
  rewrite_metrics(metrics, {read_metrics(metrics).front()});
  fs::remove(directory_ / "here/checkpoints/latest");
  for (const std::string& name : step_files("here"))
    fs::remove(directory_ / "here/checkpoints" / name);
  ASSERT_EQ(run("train --resume --out here").code, 0);
  EXPECT_EQ(newest("here").params(), params);
  EXPECT_EQ(read_metrics(metrics).size(), 2u);
}

// To begin again at step 0 would be to throw away what is left of it.
TEST_F(SavedRuns, ARunThatHasLostItsCheckpointsIsLeftAsItIs) {
  if (::geteuid() == 0 && std::system("command -v setpriv > /dev/null") != 0)
    GTEST_SKIP() << "root may read anything, and setpriv is not installed";
  const std::string nobody = ::geteuid() == 0 ? "setpriv --reuid 65534 --clear-groups" : "";
  const fs::path run_directory = directory_ / "here", checkpoints = run_directory / "checkpoints";
  const struct {
    const char* says;
    std::function<void()> lose;
    std::string environment;
  } losses[] = {{"none of the 2 checkpoints of here is whole",
                 [&] {
                   for (const std::string& name : step_files("here"))
                     fs::resize_file(checkpoints / name, 1000);
                 },
                 ""},
                {"here/metrics.jsonl tells of epoch 2",
                 [&] { fs::rename(checkpoints, run_directory / "aside"); }, ""},
                {"here/checkpoints: cannot be read: Permission denied",
                 [&] {
                   fs::permissions(checkpoints, fs::perms(0));
                   fs::permissions(run_directory / "lock", fs::perms(0666));
                   fs::permissions(run_directory, fs::perms(0777));
                 },
                 nobody}};
  for (const auto& loss : losses) {
    ASSERT_EQ(run("train " + small_ + "--set train.epochs=3 --out here").code, 0);
    loss.lose();
    const auto files = [&] {
      std::map<std::string, std::string> texts;
      for (const char* name : {"config.toml", "metrics.jsonl", "sessions.jsonl"})
        texts[name] = read_file(run_directory / name, kMaxFile);
      return texts;
    };
    const auto before = files();
    const Result resumed = run("train --resume --out here", loss.environment);
    EXPECT_EQ(resumed.code, 1) << resumed.out;
    EXPECT_THAT(resumed.out, testing::HasSubstr(loss.says));
    EXPECT_EQ(files(), before);
    if (fs::exists(checkpoints)) fs::permissions(checkpoints, fs::perms(0755));
    fs::remove_all(run_directory);
  }
}

// The order of sums is the checkpoint's, though this device would choose another today; on another
// kind of device it is chosen again, with a message.
TEST_F(SavedRuns, AResumedRunKeepsItsTilingOnItsKindOfDevice) {
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=2 --set train.keep=2 --out here").code, 0);
  const fs::path checkpoints = directory_ / "here/checkpoints";
  const std::vector<std::string> steps = step_files("here");
  ASSERT_EQ(steps.size(), 2u);
  Checkpoint first = load_checkpoint(checkpoints / steps[0]);
  EXPECT_EQ(first.device, "cpu");
  EXPECT_GT(first.tiling.tile, 7);
  first.tiling = {.tile = 7, .parts = 2};
  const auto resume = [&](const std::string& flags) {
    save_checkpoint(checkpoints / steps[0], first);
    fs::remove(checkpoints / steps[1]);
    const Result result = run("train --resume --out here " + flags);
    EXPECT_EQ(result.code, 0) << result.out;
    return result.out.find("not bit for bit") != std::string::npos;
  };
  EXPECT_FALSE(resume(""));
  EXPECT_EQ(newest("here").tiling.tile, 7);
  EXPECT_EQ(newest("here").tiling.parts, 2);
  EXPECT_TRUE(resume("--plain"));
  EXPECT_NE(newest("here").tiling.tile, 7);
}

// With the right checksums, so that only the data can tell.
TEST_F(SavedRuns, ACheckpointBeyondTheRunIsNamed) {
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=2 --out here").code, 0);
  Checkpoint forged = newest("here");
  forged.state.epoch = 1;
  forged.state.step = 1000;
  RunDirectory(directory_ / "here").save(forged);
  const Result resumed = run("train --resume --out here");
  EXPECT_EQ(resumed.code, 2) << resumed.out;
  EXPECT_THAT(resumed.out, testing::HasSubstr("train.epochs = 2: here has trained 250 epochs"));
}

TEST_F(SavedRuns, ADamagedCheckpointIsNamedEvenToTheQuiet) {
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=2 --out here").code, 0);
  const auto params = newest("here").params();
  const std::string damaged = step_files("here").back();
  fs::resize_file(directory_ / "here/checkpoints" / damaged, 1000);
  const Result resumed = run("train --resume --quiet --out here");
  EXPECT_EQ(resumed.code, 0) << resumed.out;
  EXPECT_THAT(resumed.out, testing::HasSubstr(damaged + ": not a sound safetensors file"));
  EXPECT_THAT(resumed.out, testing::HasSubstr("skipped for the checkpoint before it"));
  EXPECT_EQ(newest("here").params(), params);
}

// Killed as its last checkpoint was written: with it, resuming has nothing left to do.
TEST_F(SavedRuns, ARunWithItsLastCheckpointHasItsSamples) {
  fs::create_directories(directory_ / "here/checkpoints/step-00000008.safetensors/occupied");
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=2 --out here").code, 1);
  EXPECT_TRUE(fs::exists(directory_ / "here/samples.png"));
  fs::remove_all(directory_ / "here/checkpoints/step-00000008.safetensors");
  ASSERT_EQ(run("train --resume --out here").code, 0);
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=0 --out untrained").code, 0);
  EXPECT_TRUE(fs::exists(directory_ / "untrained/samples.png"));
}

// A run whose checkpoint is of version 1, stopped after its first epoch, with three parts to a
// gradient.
TEST_F(SavedRuns, ARunOfAnOlderVersionIsReadAndContinued) {
  fs::copy(fs::path(SFNN_SOURCE_DIR) / "tests/run/version-1", directory_ / "old",
           fs::copy_options::recursive);
  EXPECT_EQ(run("eval old").code, 0);
  const Result from =
      run("train --config old/config.toml --set train.parts=4 --set train.epochs=0 "
          "--init-from old --out from");
  ASSERT_EQ(from.code, 0) << from.out;
  EXPECT_EQ(newest("from").params(), newest("old").params());
  fs::copy(directory_ / "old", directory_ / "plain", fs::copy_options::recursive);
  EXPECT_EQ(run("train --resume --out plain --plain").code, 0);  // another device
  const Result resumed = run("train --resume --out old");
  EXPECT_EQ(resumed.code, 0) << resumed.out;
  EXPECT_THAT(resumed.out, testing::HasSubstr("the checkpoint is of version 1"));
  EXPECT_EQ(newest("old").state.epoch, 2);
  EXPECT_EQ(newest("old").version, 3);
}

// The tree of the sum needs a power of two.
TEST_F(SavedRuns, PartsThatAreNoPowerOfTwoAreRefused) {
  const Result result = run("train " + small_ + "--set train.parts=3 --out here");
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.out, testing::HasSubstr("train.parts = 3: must be a power of two"));
}

}  // namespace
}  // namespace sfnn
