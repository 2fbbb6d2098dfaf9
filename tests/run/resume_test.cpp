// `sfnn train --resume` as users see it: what a run continues from, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "host/formats/atomic_file.hpp"
#include "host/formats/npy.hpp"
#include "host/run/metrics.hpp"
#include "tests/support/program.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

using Resume = Program;

// Data of a user's own, and how to train on them.
void write_own_files(const fs::path& folder) {
  fs::create_directories(folder);
  std::vector<float> x(40 * 3), y(40 * 2);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(i % 5);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = float(i % 2);
  write_npy(folder / "x.npy", {{40, 3}, x});
  write_npy(folder / "y.npy", {{40, 2}, y});
}
const std::string kOwnFiles =
    "--set data.set=files --set data.train_x=x.npy --set data.train_y=y.npy --set "
    "data.test_x=x.npy --set data.test_y=y.npy --set data.valid=10 --set net.hidden=4s "
    "--set train.batch=10 ";

TEST_F(Resume, AStoppedRunResumesBitForBit) {
  const std::string options =
      small_ + "--set train.epochs=40 --set train.batch=10 --set train.estimator=G1 ";
  ASSERT_EQ(run("train " + options + "--out whole").code, 0);
  // In the background; stopped a moment after it has begun to save.
  const Result stopped =
      run("train " + options +
          "--out halves & pid=$!; while [ ! -e halves/checkpoints/latest ]; do sleep 0.01; done; "
          "kill -TERM $pid; wait $pid; exit $?; #");
  EXPECT_EQ(stopped.code, 3) << stopped.out;
  ASSERT_LT(newest("halves").state.step, newest("whole").state.step)
      << "the run ended before it could be stopped";
  const Result resumed = run("train " + options + "--out halves --resume");
  ASSERT_EQ(resumed.code, 0) << resumed.out;
  EXPECT_EQ(newest("halves").params(), newest("whole").params());
  EXPECT_EQ(newest("halves").state.P().arrays, newest("whole").state.P().arrays);
  const auto a = read_metrics(directory_ / "whole/metrics.jsonl"),
             b = read_metrics(directory_ / "halves/metrics.jsonl");
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i]["train_c_hat"], b[i]["train_c_hat"]);
  EXPECT_EQ(a.back()["test_nll"], b.back()["test_nll"]);
}

// As the kernel and the shell send it, one after the other. What was printed has nowhere to go.
TEST_F(Resume, AClosedTerminalStopsARunWithItsStateSaved) {
  const std::string train = "train " + small_ + "--set train.batch=10 --set train.save_steps=10 ";
  const std::string hang_up =
      "& pid=$!; while [ ! -e here/checkpoints/latest ]; do sleep 0.01; done; kill -HUP $pid; "
      "kill -HUP $pid; wait $pid; exit $?; #";
  const Result stopped = run(train + "--set train.epochs=100000 --out here >/dev/full " + hang_up);
  EXPECT_EQ(stopped.code, 3) << stopped.out;
  EXPECT_GT(newest("here").state.step, 0);
  fs::remove_all(directory_ / "here");
  const Result kept = run(train + "--set train.epochs=3 --out here " + hang_up, "trap '' HUP;");
  EXPECT_EQ(kept.code, 0) << "nohup: " << kept.out;
  fs::remove_all(directory_ / "here");
  // A shell that runs a script has its background ignore the Ctrl-C that ends the script.
  const Result background =
      run(train +
          "--set train.epochs=100000 --out here & pid=$!; while [ ! -e here/checkpoints/latest ]; "
          "do sleep 0.01; done; kill -INT $pid; sleep 0.5; kill -0 $pid || exit 99; kill -TERM "
          "$pid; wait $pid; exit $?; #");
  EXPECT_EQ(background.code, 3) << background.out;
}

// It has nothing left to do, so it needs no data, and shows what it ended with.
TEST_F(Resume, AFinishedRunEndsAtOnce) {
  write_own_files(directory_ / "data");
  const Result train = run("train " + kOwnFiles + "--data data --out here --set train.epochs=2");
  ASSERT_EQ(train.code, 0) << train.out;
  fs::remove_all(directory_ / "data");
  const Result again = run("train --resume --out here");
  EXPECT_EQ(again.code, 0) << again.out;
  EXPECT_NE(again.out.find("here is finished: 2 epochs"), std::string::npos) << again.out;
  const std::string last = train.out.substr(train.out.rfind("test NLL"));
  EXPECT_NE(again.out.find(last), std::string::npos) << again.out << "against " << last;
  EXPECT_EQ(run("train --resume --out here --set train.epochs=3").code, 2) << "another config";
}

// The command that a stopped run prints continues it.
TEST_F(Resume, TheCommandPrintedAtAStopWorks) {
  write_own_files(directory_ / "data");
  const Result stopped =
      run("train " + kOwnFiles +
          "--data data --out 'my run' --set train.epochs=100000 & pid=$!; while [ ! -e 'my "
          "run/checkpoints/latest' ]; do sleep 0.01; done; kill -TERM $pid; wait $pid; exit $?; #");
  ASSERT_EQ(stopped.code, 3) << stopped.out;
  const std::string command = "sfnn train --resume --out 'my run' --data data";
  ASSERT_NE(stopped.out.find("continue with: " + command), std::string::npos) << stopped.out;
  const Result resumed = run(command.substr(5) + " --dry-run");
  EXPECT_EQ(resumed.code, 0) << resumed.out;
  EXPECT_NE(resumed.out.find("100000 epochs"), std::string::npos) << resumed.out;
}

TEST_F(Resume, ABadLineOfMetricsIsPassedOver) {
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=3 --out here").code, 0);
  std::string text = read_file(directory_ / "here/metrics.jsonl", 1 << 20);
  text.insert(text.find('\n') + 1, "not JSON\n");
  write_file_atomically(directory_ / "here/metrics.jsonl", text);
  fs::remove(directory_ / "here/checkpoints" / step_files("here").back());
  for (const char* command : {"info here", "report here", "train --resume --out here"}) {
    const Result result = run(command);
    EXPECT_EQ(result.code, 0) << command << result.out;
    EXPECT_NE(result.out.find("metrics.jsonl:2: not a JSON object: skipped"), std::string::npos)
        << command << result.out;
  }
  EXPECT_EQ(read_metrics(directory_ / "here/metrics.jsonl").size(), 3u);
}

// What is printed when a run is stopped must work: the directory knows its config.
TEST_F(Resume, ResumeNeedsNothingButTheDirectory) {
  const std::string options = small_ + "--set train.epochs=3 ";
  ASSERT_EQ(run("train " + options + "--out here").code, 0);
  const auto params = newest("here").params();
  fs::remove(directory_ / "here/checkpoints" / step_files("here").back());
  const Result resumed = run("train --resume --out here");
  ASSERT_EQ(resumed.code, 0) << resumed.out;
  EXPECT_EQ(newest("here").params(), params);
  const Result nowhere = run("train --resume");
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_NE(nowhere.out.find("--out"), std::string::npos);
}

// A directory's name that was mistyped is not a wish for the default network.
TEST_F(Resume, ResumeStartsAfreshOnlyWhereItIsSaidWhat) {
  fs::create_directories(directory_ / "empty");
  for (const char* out : {"absent", "empty"}) {
    const Result nothing = run(std::string("train --resume --quiet --out ") + out);
    EXPECT_EQ(nothing.code, 2) << nothing.out;
    EXPECT_THAT(nothing.out, HasSubstr("holds no run to resume: check --out"));
  }
  EXPECT_FALSE(fs::exists(directory_ / "absent"));
  EXPECT_TRUE(fs::is_empty(directory_ / "empty"));
  std::ofstream(directory_ / "small.toml") << "[data]\nlimit = 50\n[train]\nepochs = 1\n";
  const Result from_file = run("train --resume --config small.toml --out absent");
  EXPECT_EQ(from_file.code, 0) << from_file.out;
  const Result from_settings = run("train --resume " + small_ + "--set train.epochs=1 --out empty");
  EXPECT_EQ(from_settings.code, 0) << from_settings.out;
  EXPECT_THAT(from_settings.out, HasSubstr("there is no run to resume: starting a new one"));
}

TEST_F(Resume, ARunCanBeTrainedLonger) {
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=2 --out here").code, 0);
  const std::int64_t step = newest("here").state.step;
  const Result longer = run("train --resume --set train.epochs=3 --out here");
  EXPECT_EQ(longer.code, 0) << longer.out;
  EXPECT_THAT(longer.out,
              HasSubstr("train.epochs: 2 against 3: train.schedule = paper begins anew"));
  EXPECT_EQ(newest("here").state.step, step / 2 * 3);
  EXPECT_EQ(newest("here").state.tail_step, step);
  EXPECT_EQ(RunDirectory(directory_ / "here").config().train.epochs, 3);
  EXPECT_THAT(run("train --resume --out here").out, HasSubstr("is finished: 3 epochs"));
  const Result fewer = run("train --resume --set train.epochs=1 --out here");
  EXPECT_EQ(fewer.code, 2) << fewer.out;
  EXPECT_THAT(fewer.out, HasSubstr("train.epochs = 1: here has trained 3 epochs"));
  EXPECT_EQ(RunDirectory(directory_ / "here").config().train.epochs, 3);
  const Result other = run("train --resume --set net.hidden=7s --out here");
  EXPECT_EQ(other.code, 2) << other.out;
  EXPECT_THAT(other.out, HasSubstr("--init-from here to start from its weights"));
}

// The checkpoint knows what it was trained with.
TEST_F(Resume, AnEditedConfigIsNotResumed) {
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=3 --out here").code, 0);
  const Config config = RunDirectory(directory_ / "here").config();
  const std::string metrics = read_file(directory_ / "here/metrics.jsonl", 1 << 20);
  for (const char* setting :
       {"train.momentum=0.5", "train.batch=7", "net.hidden=30s,10s", "eval.particles=11"}) {
    Config edited = config;
    apply_setting(edited, setting);
    write_file_atomically(directory_ / "here/config.toml", to_toml(edited));
    const Result resumed = run("train --resume --out here");
    EXPECT_EQ(resumed.code, 2) << setting << resumed.out;
    const std::string key = std::string(setting).substr(0, std::string(setting).find('='));
    EXPECT_THAT(resumed.out, HasSubstr("was trained with (" + key + ": ")) << setting;
  }
  EXPECT_EQ(read_file(directory_ / "here/metrics.jsonl", 1 << 20), metrics);
  write_file_atomically(directory_ / "here/config.toml", to_toml(config));
  EXPECT_EQ(run("train --resume --out here").code, 0);
}

TEST_F(Resume, ALostConfigIsNamed) {
  const std::string options = small_ + "--set train.epochs=1 --out here";
  ASSERT_EQ(run("train " + options).code, 0);
  fs::remove(directory_ / "here/config.toml");
  for (const std::string& command : {std::string("train --resume --out here"),
                                     "train --resume " + options, "train " + options}) {
    const Result result = run(command);
    EXPECT_EQ(result.code, 2) << result.out;
    EXPECT_THAT(result.out, HasSubstr("here/config.toml does not: to continue that run"));
    EXPECT_THAT(result.out, HasSubstr("sfnn info here/checkpoints/" + step_files("here").back()));
  }
}

TEST_F(Resume, ADamagedCheckpointIsPassedOverForTheOneBefore) {
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=3 --out here").code, 0);
  const fs::path newest_file = directory_ / "here/checkpoints" / step_files("here").back();
  const std::int64_t step = newest("here").state.step;
  fs::resize_file(newest_file, fs::file_size(newest_file) - 7);
  const Result eval = run("eval here");
  EXPECT_EQ(eval.code, 0) << eval.out;
  EXPECT_NE(eval.out.find("skipped"), std::string::npos) << eval.out;
  EXPECT_LT(newest("here").state.step, step);
}

}  // namespace
}  // namespace sfnn
