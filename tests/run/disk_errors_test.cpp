// Runs whose files cannot be written or read: full disks, closed directories.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "host/run/metrics.hpp"
#include "host/run/records.hpp"
#include "tests/support/program.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

using DiskErrors = Program;

// ulimit -f stands for a full disk: a write that would make a file too large fails.
TEST_F(DiskErrors, AFullDiskStopsTheRunAndHarmsNothing) {
  const std::string options = small_ + "--set train.epochs=3 --out here";
  ASSERT_EQ(run("train " + options).code, 0);
  const auto whole = newest("here");
  fs::remove(directory_ / "here/checkpoints" / step_files("here").back());
  const auto before = newest("here");
  for (const char* mode : {"stop", "continue"}) {  // the last checkpoint is needed in any case
    const Result full =
        run("train --resume --out here --on-save-error " + std::string(mode), "ulimit -f 8;");
    EXPECT_EQ(full.code, 1) << full.out;
    EXPECT_NE(full.out.find("File too large"), std::string::npos) << full.out;
    EXPECT_NE(full.out.find("--resume --out here"), std::string::npos) << full.out;
    EXPECT_EQ(newest("here").params(), before.params());
    for (const auto& entry : fs::recursive_directory_iterator(directory_ / "here"))
      EXPECT_NE(entry.path().extension(), ".tmp") << entry.path();
  }
  ASSERT_EQ(run("train --resume --out here").code, 0);
  EXPECT_EQ(newest("here").params(), whole.params());
}

// Exit code 3 says that the state is saved, so a state that cannot be is a failure.
TEST_F(DiskErrors, AStopThatCannotSaveHasFailed) {
  const Result result = run(
      "train " + small_ +
          "--set train.epochs=100000 --set train.save_every=100000 --set data.valid=0 "
          "--on-save-error continue --out here 2>&1 & pid=$!; while [ ! -s here/sessions.jsonl ]; "
          "do sleep 0.01; done; kill -TERM $pid; wait $pid; exit $?; #",
      "ulimit -f 16;");
  EXPECT_EQ(result.code, 1) << result.out;
  EXPECT_THAT(result.out, testing::ContainsRegex("File too large: stopped at step [0-9]+"));
}

// A directory in a file's place cannot be replaced: that one save fails, and no other.
TEST_F(DiskErrors, OnSaveErrorContinueTrainsOn) {
  const std::string options = small_ + "--set train.epochs=3 ";
  ASSERT_EQ(run("train " + options + "--out whole").code, 0);
  for (const char* obstacle : {"step-00000008.safetensors", "best.safetensors"}) {
    const fs::path in_the_way = directory_ / "here/checkpoints" / obstacle / "occupied";
    fs::create_directories(in_the_way);
    const Result stopped = run("train " + options + "--out here");
    EXPECT_EQ(stopped.code, 1) << stopped.out;
    EXPECT_NE(stopped.out.find(obstacle), std::string::npos) << stopped.out;
    const Result done =
        run("train " + options + "--out here --resume --quiet --on-save-error continue");
    EXPECT_EQ(done.code, 0) << done.out;
    EXPECT_NE(done.out.find("training continues without it"), std::string::npos) << done.out;
    EXPECT_TRUE(fs::exists(in_the_way));
    EXPECT_EQ(newest("here").params(), newest("whole").params());
    // A best that could not be written is none.
    EXPECT_EQ(newest("here").state.best_valid_nll.has_value(),
              fs::is_regular_file(directory_ / "here/checkpoints/best.safetensors"));
    EXPECT_EQ(read_metrics(directory_ / "here/metrics.jsonl").size(), 3u);
    fs::remove_all(directory_ / "here");
  }
  EXPECT_EQ(run("train --on-save-error shrug").code, 2);
}

// The advice that it ends with is good: there was nothing to lose.
TEST_F(DiskErrors, ARunThatCouldNeverSaveBeginsAgain) {
  const std::string options = small_ + "--set train.epochs=3 ";
  ASSERT_EQ(run("train " + options + "--out whole").code, 0);
  const Result failed =
      run("train " + options + "--on-save-error continue --out here", "ulimit -f 16;");
  EXPECT_EQ(failed.code, 1) << failed.out;
  EXPECT_THAT(failed.out, testing::HasSubstr("continue with --resume --out here"));
  EXPECT_EQ(read_metrics(directory_ / "here/metrics.jsonl").size(), 3u);
  const Result resumed = run("train --resume --out here");
  EXPECT_EQ(resumed.code, 0) << resumed.out;
  EXPECT_EQ(newest("here").params(), newest("whole").params());
  EXPECT_FALSE(read_epochs(directory_ / "here/metrics.jsonl").back().never_saved);
}

// Lines that could not be written go in with the next one.
TEST_F(DiskErrors, MetricsAreCaughtUpWith) {
  fs::create_directories(directory_ / "here/metrics.jsonl");
  const Result result = run("train " + small_ +
                            "--set train.epochs=2000 --on-save-error continue --out here & pid=$!; "
                            "while [ ! -e here/checkpoints/latest ]; do sleep 0.01; done; "
                            "rmdir here/metrics.jsonl; while [ ! -s here/metrics.jsonl ]; do sleep "
                            "0.01; done; kill -TERM $pid; wait $pid; exit $?; #");
  EXPECT_EQ(result.code, 3) << result.out;
  const auto lines = read_metrics(directory_ / "here/metrics.jsonl");
  ASSERT_FALSE(lines.empty());
  for (std::size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(lines[i]["epoch"], i + 1);
}

TEST_F(DiskErrors, AReadOnlyDirectoryIsNamed) {
  if (::geteuid() == 0 && std::system("command -v setpriv > /dev/null") != 0)
    GTEST_SKIP() << "root may write anywhere, and setpriv is not installed";
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=2 --out here").code, 0);
  fs::remove(directory_ / "here/checkpoints" / step_files("here").back());
  const auto before = newest("here");
  for (const char* closed : {"here", "here/checkpoints"})
    fs::permissions(directory_ / closed, fs::perms(0555));
  const std::string nobody = ::geteuid() == 0 ? "setpriv --reuid 65534 --clear-groups" : "";
  const Result result = run("train --resume --out here", nobody);
  EXPECT_EQ(result.code, 1) << result.out;
  EXPECT_NE(result.out.find("here/lock: cannot be locked: Permission denied"), std::string::npos)
      << result.out;
  for (const char* closed : {"here", "here/checkpoints"})
    fs::permissions(directory_ / closed, fs::perms(0755));
  EXPECT_EQ(newest("here").params(), before.params());
}

// Nothing is left to do there, so nothing needs to be written.
TEST_F(DiskErrors, AFinishedRunInAReadOnlyDirectoryIsShown) {
  if (::geteuid() == 0 && std::system("command -v setpriv > /dev/null") != 0)
    GTEST_SKIP() << "root may write anywhere, and setpriv is not installed";
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=2 --out here").code, 0);
  fs::permissions(directory_ / "here", fs::perms(0555));
  const std::string nobody = ::geteuid() == 0 ? "setpriv --reuid 65534 --clear-groups" : "";
  const Result result = run("train --resume --out here", nobody);
  fs::permissions(directory_ / "here", fs::perms(0755));
  EXPECT_EQ(result.code, 0) << result.out;
  EXPECT_NE(result.out.find("here is finished: 2 epochs"), std::string::npos) << result.out;
}

TEST_F(DiskErrors, ADirectoryThatCannotBeReadIsNamed) {
  if (::geteuid() == 0 && std::system("command -v setpriv > /dev/null") != 0)
    GTEST_SKIP() << "root may read anything, and setpriv is not installed";
  fs::create_directories(directory_ / "closed");
  fs::permissions(directory_ / "closed", fs::perms(0));
  const std::string nobody = ::geteuid() == 0 ? "setpriv --reuid 65534 --clear-groups" : "";
  const std::pair<const char*, const char*> looked_for[] = {
      {"train --resume --out closed", "config.toml"}, {"report closed", "sweep.json"}};
  for (const auto& [command, file] : looked_for) {
    const Result result = run(command, nobody);
    EXPECT_EQ(result.code, 1);
    EXPECT_EQ(result.out, fmt::format("sfnn: closed/{}: Permission denied\n", file));
  }
  fs::permissions(directory_ / "closed", fs::perms(0755));
}

}  // namespace
}  // namespace sfnn
