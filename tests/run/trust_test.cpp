// Runs that can be trusted: the program under a second writer, a full disk, bad numbers, hostile
// files and impatient users.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "host/formats/atomic_file.hpp"
#include "host/formats/npy.hpp"
#include "host/run/records.hpp"
#include "tests/support/program.hpp"

namespace sfnn {
namespace {

using Trust = Program;

constexpr std::size_t kMaxPage = 1 << 24;  // bytes of a report

// --- two writers -------------------------------------------------------------------------------

TEST_F(Trust, TwoRunsInOneDirectoryAreKeptApart) {
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

TEST_F(Trust, SavesWithinAnEpochAndKeepsAsManyAsAsked) {
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
TEST_F(Trust, ARunWithoutACheckpointStartsItsMetricsAnew) {
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=2 --out here").code, 0);
  const auto params = newest("here").params;
  const fs::path metrics = directory_ / "here/metrics.jsonl";
  rewrite_metrics(metrics, {read_metrics(metrics).front()});
  fs::remove(directory_ / "here/checkpoints/latest");
  for (const std::string& name : step_files("here"))
    fs::remove(directory_ / "here/checkpoints" / name);
  ASSERT_EQ(run("train --resume --out here").code, 0);
  EXPECT_EQ(newest("here").params, params);
  EXPECT_EQ(read_metrics(metrics).size(), 2u);
}

// To begin again at step 0 would be to throw away what is left of it.
TEST_F(Trust, ARunThatHasLostItsCheckpointsIsLeftAsItIs) {
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
        texts[name] = read_file(run_directory / name, kMaxPage);
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
// kind of device it is chosen anew, and said.
TEST_F(Trust, AResumedRunKeepsItsTilingOnItsKindOfDevice) {
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=2 --set train.keep=2 --out here").code, 0);
  const fs::path checkpoints = directory_ / "here/checkpoints";
  const std::vector<std::string> steps = step_files("here");
  ASSERT_EQ(steps.size(), 2u);
  Checkpoint first = load_checkpoint(checkpoints / steps[0]);
  EXPECT_EQ(first.device, "cpu");
  EXPECT_GT(first.tiling.tile, 7);
  first.tiling = {.tile = 7, .parts = 3};
  const auto resume = [&](const std::string& flags) {
    save_checkpoint(checkpoints / steps[0], first);
    fs::remove(checkpoints / steps[1]);
    const Result result = run("train --resume --out here " + flags);
    EXPECT_EQ(result.code, 0) << result.out;
    return result.out.find("not bit for bit") != std::string::npos;
  };
  EXPECT_FALSE(resume(""));
  EXPECT_EQ(newest("here").tiling.tile, 7);
  EXPECT_EQ(newest("here").tiling.parts, 3);
  EXPECT_TRUE(resume("--plain"));
  EXPECT_NE(newest("here").tiling.tile, 7);
}

// With the right checksums, so that only the data can tell.
TEST_F(Trust, ACheckpointBeyondTheRunIsNamed) {
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=2 --out here").code, 0);
  Checkpoint forged = newest("here");
  forged.state.epoch = 1;
  forged.state.step = 1000;
  RunDirectory(directory_ / "here").save(forged);
  const Result resumed = run("train --resume --out here");
  EXPECT_EQ(resumed.code, 1) << resumed.out;
  EXPECT_THAT(resumed.out,
              testing::HasSubstr("here: its checkpoint of step 1000 lies beyond the 8 steps of"));
}

TEST_F(Trust, ADamagedCheckpointIsNamedEvenToTheQuiet) {
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=2 --out here").code, 0);
  const auto params = newest("here").params;
  const std::string damaged = step_files("here").back();
  fs::resize_file(directory_ / "here/checkpoints" / damaged, 1000);
  const Result resumed = run("train --resume --quiet --out here");
  EXPECT_EQ(resumed.code, 0) << resumed.out;
  EXPECT_THAT(resumed.out, testing::HasSubstr(damaged + ": not a sound safetensors file"));
  EXPECT_THAT(resumed.out, testing::HasSubstr("passed over for the checkpoint before it"));
  EXPECT_EQ(newest("here").params, params);
}

// Killed as its last checkpoint was written: with it, resuming has nothing left to do.
TEST_F(Trust, ARunWithItsLastCheckpointHasItsSamples) {
  fs::create_directories(directory_ / "here/checkpoints/step-00000008.safetensors/occupied");
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=2 --out here").code, 1);
  EXPECT_TRUE(fs::exists(directory_ / "here/samples.png"));
  fs::remove_all(directory_ / "here/checkpoints/step-00000008.safetensors");
  ASSERT_EQ(run("train --resume --out here").code, 0);
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=0 --out untrained").code, 0);
  EXPECT_TRUE(fs::exists(directory_ / "untrained/samples.png"));
}

// --- files that cannot be written --------------------------------------------------------------

// ulimit -f stands for a full disk: a write that would make a file too large fails.
TEST_F(Trust, AFullDiskStopsTheRunAndHarmsNothing) {
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
    EXPECT_EQ(newest("here").params, before.params);
    for (const auto& entry : fs::recursive_directory_iterator(directory_ / "here"))
      EXPECT_NE(entry.path().extension(), ".tmp") << entry.path();
  }
  ASSERT_EQ(run("train --resume --out here").code, 0);
  EXPECT_EQ(newest("here").params, whole.params);
}

// Exit code 3 says that the state is saved, so a state that cannot be is a failure.
TEST_F(Trust, AStopThatCannotSaveHasFailed) {
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
TEST_F(Trust, OnSaveErrorContinueTrainsOn) {
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
    EXPECT_NE(done.out.find("training goes on without it"), std::string::npos) << done.out;
    EXPECT_TRUE(fs::exists(in_the_way));
    EXPECT_EQ(newest("here").params, newest("whole").params);
    // A best that could not be written is none.
    EXPECT_EQ(newest("here").state.best_valid_nll.has_value(),
              fs::is_regular_file(directory_ / "here/checkpoints/best.safetensors"));
    EXPECT_EQ(read_metrics(directory_ / "here/metrics.jsonl").size(), 3u);
    fs::remove_all(directory_ / "here");
  }
  EXPECT_EQ(run("train --on-save-error shrug").code, 2);
}

// The advice that it ends with is good: there was nothing to lose.
TEST_F(Trust, ARunThatCouldNeverSaveBeginsAgain) {
  const std::string options = small_ + "--set train.epochs=3 ";
  ASSERT_EQ(run("train " + options + "--out whole").code, 0);
  const Result failed =
      run("train " + options + "--on-save-error continue --out here", "ulimit -f 16;");
  EXPECT_EQ(failed.code, 1) << failed.out;
  EXPECT_THAT(failed.out, testing::HasSubstr("continue with --resume --out here"));
  EXPECT_EQ(read_metrics(directory_ / "here/metrics.jsonl").size(), 3u);
  const Result resumed = run("train --resume --out here");
  EXPECT_EQ(resumed.code, 0) << resumed.out;
  EXPECT_EQ(newest("here").params, newest("whole").params);
  EXPECT_FALSE(read_epochs(directory_ / "here/metrics.jsonl").back().never_saved);
}

// Lines that could not be written go in with the next one.
TEST_F(Trust, MetricsAreCaughtUpWith) {
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

TEST_F(Trust, AReadOnlyDirectoryIsNamed) {
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
  EXPECT_EQ(newest("here").params, before.params);
}

TEST_F(Trust, ADirectoryThatCannotBeReadIsNamed) {
  if (::geteuid() == 0 && std::system("command -v setpriv > /dev/null") != 0)
    GTEST_SKIP() << "root may read anything, and setpriv is not installed";
  fs::create_directories(directory_ / "closed");
  fs::permissions(directory_ / "closed", fs::perms(0));
  const std::string nobody = ::geteuid() == 0 ? "setpriv --reuid 65534 --clear-groups" : "";
  for (const char* command : {"train --resume --out closed", "report closed"}) {
    const Result result = run(command, nobody);
    EXPECT_EQ(result.code, 1);
    EXPECT_EQ(result.out, "sfnn: closed/config.toml: Permission denied\n");
  }
  fs::permissions(directory_ / "closed", fs::perms(0755));
}

// --- numbers that have gone bad ----------------------------------------------------------------

TEST_F(Trust, NumbersThatAreNotFiniteStopTheRunAndAreNeverSaved) {
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

TEST_F(Trust, UnitsThatAreNoLongerRandomAreReported) {
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

TEST_F(Trust, ParticlesThatHaveCollapsedAreReported) {
  const Result result = run("train " + small_ +
                            "--set net.hidden=100n+100d --set net.init_scale=1000 --set "
                            "train.learning_rate=0 --set train.epochs=1 --out here");
  ASSERT_EQ(result.code, 0) << result.out;
  const std::string warning = "the particles have collapsed: one of 4 has all the weight";
  EXPECT_THAT(result.out, testing::HasSubstr("warning: " + warning));
  ASSERT_EQ(run("report here").code, 0);
  EXPECT_THAT(read_file(directory_ / "here/report.html", kMaxPage), testing::HasSubstr(warning));
}

// --- impatient users ---------------------------------------------------------------------------

// A step of many seconds: the first signal waits for its end, the second does not.
// It is sent until it is heard: the thread sanitizer keeps signals back while the program computes,
// and of two alike only one.
TEST_F(Trust, TheSecondSignalEndsTheProgramAtOnce) {
  const std::string options =
      "--set net.hidden=1500s,1500s --set train.batch=4000 --set train.particles=100 --set "
      "train.epochs=2 ";
  const Result result =
      run("train " + options +
          "--out here & pid=$!; while [ ! -s here/sessions.jsonl ]; do sleep 0.01; done; sleep "
          "0.3; kill -TERM $pid; sleep 0.5; kill -0 $pid || exit 99; begin=$(date +%s%N); "
          "(while kill -TERM $pid; do sleep 0.2; done) 2>/dev/null & wait $pid; code=$?; "
          "end=$(date +%s%N); echo took $(((end - begin) / 1000000)); exit $code; #");
  EXPECT_EQ(result.code, 143) << result.out;
  const std::size_t took = result.out.find("took ");
  ASSERT_NE(took, std::string::npos) << result.out;
  // A step of this size takes half a minute and more; a loaded machine needs some seconds to take
  // down the memory.
  EXPECT_LT(std::stol(result.out.substr(took + 5)), 10000) << "milliseconds";
  EXPECT_EQ(RunDirectory(directory_ / "here").config().train.batch, 4000) << "the run is whole";
}

// --- files that others made --------------------------------------------------------------------

class TrustInFiles : public Program {
 protected:
  TrustInFiles() {
    write_npy(directory_ / "x.npy", {.shape = {6, 2}, .values = std::vector<float>(12, 0.5f)});
    fs::create_directories(directory_ / "inside");
    fs::copy(directory_ / "x.npy", directory_ / "inside/x.npy");
  }
  std::string settings(const std::string& file) const {
    std::string text = "--set data.set=files --set data.output=gaussian ";
    for (const char* key : {"train_x", "train_y", "test_x", "test_y"})
      text += "--set 'data." + std::string(key) + "=" + file + "' ";
    return text + "--set net.hidden=3s --set train.epochs=1 --set eval.particles=2 ";
  }
};

// What the command line says is the user's own; what a run's files say stays in the data folders.
TEST_F(TrustInFiles, NamesInARunDoNotLeadOutsideTheDataFolders) {
  for (const std::string& name :
       {std::string("../x.npy"), (directory_ / "x.npy").string(), std::string("a/../../x.npy")}) {
    fs::create_directories(directory_ / "inside/a");
    ASSERT_EQ(run("train --data inside " + settings(name) + "--out run").code, 0) << name;
    for (const std::string command :
         {"eval run", "sample run", "estimators run", "train --resume --out run"}) {
      const Result refused = run(command + " --data inside");
      EXPECT_EQ(refused.code, 1) << command << refused.out;
      EXPECT_THAT(refused.out, testing::HasSubstr("leads outside the data folders"));
    }
    for (const std::string command : {"eval run ", "train --resume --out run "}) {
      const Result trusted = run(command + "--data inside " + settings(name));
      EXPECT_EQ(trusted.code, 0) << trusted.out;
    }
    fs::remove_all(directory_ / "run");
  }
  ASSERT_EQ(run("train --data inside " + settings("a/../x.npy") + "--out run").code, 0);
  EXPECT_EQ(run("eval run --data inside").code, 0);
}

TEST_F(TrustInFiles, ALineOfAMillionBracketsIsPassedOver) {
  ASSERT_EQ(run("train " + settings("x.npy") + "--set train.epochs=2 --out run").code, 0);
  const std::string line =
      "{\"a\":" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}\n";
  for (const char* name : {"metrics.jsonl", "sessions.jsonl"})
    write_file_atomically(directory_ / "run" / name, line);
  fs::remove(directory_ / "run/checkpoints" / step_files("run").back());
  for (const std::string command : {"info run", "report run", "train --resume --out run"}) {
    const Result result = run(command);
    EXPECT_EQ(result.code, 0) << command << result.out;
    EXPECT_THAT(result.out, testing::HasSubstr("metrics.jsonl:1: nested too deeply: passed over"));
  }
}

TEST_F(TrustInFiles, TheReportShowsHostileNamesAsText) {
  const std::string hostile = "<img src=x onerror=alert(1)>\"&";
  fs::rename(directory_ / "x.npy", directory_ / (hostile + ".npy"));
  ASSERT_EQ(run("train " + settings(hostile + ".npy") + "--out '" + hostile + "'").code, 0);
  append_metrics(
      directory_ / hostile / "metrics.jsonl",
      {{"epoch", 2}, {"valid_nll", hostile}, {"warnings", {hostile}}, {hostile, hostile}});
  append_metrics(directory_ / hostile / "sessions.jsonl",
                 {{"started", hostile}, {"device", hostile}, {"cpu", "\u0007</td>"}});
  ASSERT_EQ(run("report '" + hostile + "' --out page.html").code, 0);
  const std::string page = read_file(directory_ / "page.html", kMaxPage);
  EXPECT_THAT(page, testing::Not(testing::HasSubstr("<img src=x")));
  EXPECT_THAT(page, testing::HasSubstr("&lt;img src=x onerror=alert(1)&gt;&quot;&amp;"));
  EXPECT_THAT(page, testing::Not(testing::HasSubstr("</td></td>")));
}

}  // namespace
}  // namespace sfnn
