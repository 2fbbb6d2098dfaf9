// The program as a user meets it: commands, files, exit codes, what it says when something is
// wrong.
#include "tests/support/program.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "host/formats/atomic_file.hpp"
#include "host/run/metrics.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

TEST_F(Program, TrainsEvaluatesAndDraws) {
  const Result train = run("train " + small_ + "--set train.epochs=3 --out first");
  ASSERT_EQ(train.code, 0) << train.out;
  const auto lines = read_metrics(directory_ / "first/metrics.jsonl");
  ASSERT_EQ(lines.size(), 3u);
  for (const auto& line : lines) {
    for (const char* key :
         {"epoch", "train_c_hat", "valid_nll", "learning_rate", "seconds", "effective_particles"}) {
      EXPECT_TRUE(line.contains(key) && line[key].is_number()) << key;
    }
    EXPECT_EQ(line.contains("test_nll"), &line == &lines.back());
  }
  EXPECT_LT(lines[2]["valid_nll"], lines[0]["valid_nll"]);
  EXPECT_TRUE(fs::exists(directory_ / "first/config.toml"));
  EXPECT_TRUE(fs::exists(directory_ / "first/samples.png"));
  EXPECT_TRUE(fs::exists(directory_ / "first/checkpoints/best.safetensors"));

  const Result eval = run("eval first --curve curve.csv");
  ASSERT_EQ(eval.code, 0) << eval.out;
  std::ostringstream nll;
  nll.precision(4);
  nll << std::fixed << double(lines[2]["test_nll"]);
  EXPECT_NE(eval.out.find("test NLL             " + nll.str()), std::string::npos)
      << eval.out << nll.str();
  std::ifstream curve(directory_ / "curve.csv");
  std::string line;
  int count = 0;
  while (std::getline(curve, line)) ++count;
  EXPECT_EQ(count, 1 + 10);

  const Result sample = run("sample first --rows 3 --samples 4 --out grid.png");
  ASSERT_EQ(sample.code, 0) << sample.out;
  EXPECT_GT(fs::file_size(directory_ / "grid.png"), 500u);
}

TEST_F(Program, RunsAtTheSameTimeEachHaveADirectory) {
  const std::string train =
      fmt::format("'{}' train {} --set train.epochs=1 --quiet", SFNN_PROGRAM, small_);
  const Result all =
      run("--version; for s in 1 2 3 4; do " + train + " --set seed=$s & done; wait");
  EXPECT_THAT(all.out, Not(HasSubstr("in use")));
  std::set<std::uint64_t> seeds;
  for (int number = 1; number <= 4; ++number)
    seeds.insert(newest(fmt::format("runs/glyphs-{}", number)).config.train.seed);
  EXPECT_EQ(seeds.size(), 4u);
}

TEST_F(Program, WithoutValidationThereIsNoBest) {
  ASSERT_EQ(run("train " + small_ + "--set data.valid=0 --set train.epochs=1 --out here").code, 0);
  const Result best = run("eval here --best");
  EXPECT_EQ(best.code, 2);
  EXPECT_NE(best.out.find("has no best checkpoint"), std::string::npos) << best.out;
}

TEST_F(Program, ValidatesAndSavesAsOftenAsAsked) {
  ASSERT_EQ(run("train " + small_ +
                "--set train.epochs=5 --set eval.every=2 "
                "--set train.save_every=3 --out rare")
                .code,
            0);
  std::vector<bool> validated;
  for (const auto& line : read_metrics(directory_ / "rare/metrics.jsonl"))
    validated.push_back(line["valid_nll"].is_number());
  EXPECT_EQ(validated, (std::vector{false, true, false, true, true}));
  EXPECT_EQ(step_files("rare"),
            (std::vector<std::string>{"step-00000012.safetensors", "step-00000020.safetensors"}));
}

TEST_F(Program, SameSeedSameWeightsForAnyNumberOfThreads) {
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=2 --out a --threads 2").code, 0);
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=2 --out b --threads 1").code, 0);
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=2 --set seed=2 --out c").code, 0);
  EXPECT_EQ(newest("a").params(), newest("b").params());
  EXPECT_NE(newest("a").params(), newest("c").params());
}

TEST_F(Program, EveryNetworkAndEstimatorTrains) {
  const std::string common =
      "--set data.limit=200 --set data.test_limit=40 --set train.epochs=1 --set eval.particles=5 ";
  int number = 0;
  for (const char* network :
       {"--set net.hidden=20d,10d", "--set net.hidden=20d,10d --set eval.as_stochastic=true",
        "--set net.hidden=4s+16d,4s+16d --set train.estimator=G4",
        "--set net.hidden=4n+16d,4n+16d --set train.particles=1",
        "--set data.task=classes --set data.center=true --set data.noise=0.4 --set "
        "train.estimator=G1",
        "--set train.estimator=G2 --set train.particles=1",
        "--set train.estimator=G5 --set train.c=0",
        "--set net.hidden=4s+16relu,4n+16tanh,9relu --set train.estimator=rloo",
        "--set train.estimator=vimco --set train.c=0 --set train.hidden_rate=0.1",
        "--set train.estimator=vimco-geometric --set train.learning_rate=0.01",
        "--set train.estimator=darn",
        "--set train.estimator=st-gumbel --set train.temperature=0.5"}) {
    const Result result = run("train " + common + network + " --out run" + std::to_string(number));
    EXPECT_EQ(result.code, 0) << network << "\n" << result.out;
    const auto lines =
        read_metrics(directory_ / ("run" + std::to_string(number++)) / "metrics.jsonl");
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_TRUE(lines[0]["test_nll"].is_number());
    EXPECT_EQ(lines[0].contains("test_error"),
              std::string(network).find("classes") != std::string::npos);
  }
}

TEST_F(Program, OutputThatCannotBeWrittenIsAnError) {
  for (const char* command : {"devices", "--help", "completion bash"}) {
    const Result result = run(std::string(command) + " 2>&1 >/dev/full; exit $?; #");
    EXPECT_EQ(result.code, 1) << command;
    EXPECT_NE(result.out.find("No space left on device"), std::string::npos) << result.out;
  }
}

TEST_F(Program, ErrorsThatCannotBeWrittenKeepTheirExitCode) {
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=2 --out here").code, 0);
  const fs::path last = directory_ / "here/checkpoints" / step_files("here").back();
  fs::resize_file(last, fs::file_size(last) - 7);  // is warned of
  const auto code = [&](const std::string& arguments) {
    return run(arguments + " 2>/dev/full; exit $?; #").code;
  };
  EXPECT_EQ(code(""), 2);
  EXPECT_EQ(code("train --set train.epoch=3"), 2);
  EXPECT_EQ(code("eval here/config.toml"), 1);
  EXPECT_EQ(code("eval here"), 0);
  EXPECT_EQ(code("report here"), 0);
  EXPECT_EQ(code("train --resume --out here"), 0);
}

TEST_F(Program, ARunOutlivesItsOutput) {
  const Result result =
      run("train " + small_ + "--set train.epochs=3 --out here 2>&1 >/dev/full; exit $?; #");
  EXPECT_EQ(result.code, 1) << "the output is not whole";
  EXPECT_THAT(result.out, HasSubstr("some of the output could not be written"));
  EXPECT_EQ(newest("here").state.epoch, 3);
}

// `| head -2`: a reader that goes is no reason to lose an epoch.
TEST_F(Program, ARunOutlivesTheReaderOfItsOutput) {
  std::signal(SIGPIPE, SIG_DFL);  // as in a shell's children
  const Result result = run("devices >/dev/null; { '" SFNN_PROGRAM "' train " + small_ +
                            "--set train.epochs=3 --out here 2>errors; echo $? >code; } | "
                            "true; while [ ! -s code ]; do sleep 0.01; done; exit $(cat code); #");
  EXPECT_EQ(result.code, 1) << "the output is not whole";
  EXPECT_EQ(newest("here").state.epoch, 3);
  EXPECT_THAT(read_file(directory_ / "errors", 1000),
              HasSubstr("some of the output could not be written"));
  const Result list =
      run("devices >/dev/null; { sleep 0.2; '" SFNN_PROGRAM
          "' completion bash 2>errors; echo $? >code; } | true; exit $(cat code); #");
  EXPECT_EQ(list.code, 1);
  EXPECT_THAT(read_file(directory_ / "errors", 1000), HasSubstr("Broken pipe"));
}

// The run's first file does not take the number of a closed output, so nothing is printed into it.
TEST_F(Program, ClosedOutputsAreNoFilesOfTheRun) {
  const Result result =
      run("train " + small_ + "--set train.epochs=2 --out here <&- >&- 2>&-; exit $?; #");
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(read_file(directory_ / "here/lock", 1000), ContainsRegex("^process [0-9]+$"));
  fs::remove(directory_ / "here/checkpoints" / step_files("here").back());
  const Result resumed = run("train --resume --out here");
  EXPECT_EQ(resumed.code, 0) << resumed.out;
}

TEST_F(Program, ARunWithoutEpochsLeavesItsFirstWeights) {
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=0 --out none").code, 0);
  EXPECT_EQ(run("eval none").code, 0);
}

TEST_F(Program, TheDemoTouchesNothingButItsOwnFiles) {
  fs::create_directories(directory_ / "mine");
  std::ofstream(directory_ / "mine/thesis.txt") << "years of work";
  const Result result = run("demo --out mine");
  EXPECT_EQ(result.code, 2) << result.out;
  EXPECT_TRUE(fs::exists(directory_ / "mine/thesis.txt"));
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=1 --out other").code, 0);
  fs::remove(directory_ / "other/lock");
  EXPECT_EQ(run("demo --out other").code, 2);
  EXPECT_FALSE(fs::exists(directory_ / "other/lock"));
  EXPECT_NO_THROW(newest("other"));
}

TEST_F(Program, ARunIsNeverOverwritten) {
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=1 --out here").code, 0);
  const auto before = newest("here").params();
  const Result same = run("train " + small_ + "--set train.epochs=1 --out here");
  EXPECT_EQ(same.code, 2);
  EXPECT_NE(same.out.find("--resume"), std::string::npos) << same.out;
  const Result other = run("train " + small_ + "--set train.epochs=1 --set train.batch=7 --out here --resume");
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.out.find("train.batch"), std::string::npos) << other.out;
  EXPECT_EQ(newest("here").params(), before);
}

TEST_F(Program, DryRunPrintsThePlanAndLeavesNothing) {
  const Result result = run("train --dry-run --set net.hidden=200s,200s --out none");
  EXPECT_EQ(result.code, 0) << result.out;
  // 392*200 + 200 + 200*200 + 200 + 200*392 + 392
  EXPECT_NE(result.out.find("parameters   197592"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("memory"), std::string::npos);
  EXPECT_FALSE(fs::exists(directory_ / "none"));
}

// A plan takes none of what it plans: it can be looked at on a machine that is too small for it.
TEST_F(Program, APlanBeyondMemoryIsPrintedAndRefused) {
  const Result result = run("train --dry-run --device cpu --set net.hidden=400000s,400000s");
  EXPECT_EQ(result.code, 2) << result.out;
  EXPECT_NE(result.out.find("parameters   160314"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("this run needs "), std::string::npos) << result.out;
  const Result real = run("train --device cpu --set net.hidden=400000s,400000s --out none");
  EXPECT_EQ(real.code, 2) << real.out;
  EXPECT_NE(real.out.find("this run needs "), std::string::npos) << real.out;
  EXPECT_FALSE(fs::exists(directory_ / "none"));
}

TEST_F(Program, AutoSaysInOneLineWhichDeviceItTook) {
  const Result result = run("train --dry-run --quiet");
  EXPECT_EQ(result.out.find("using cpu ("), std::string::npos) << "quiet";
  const std::string out = run("train --dry-run").out;
  if (run("devices").out.find("built without CUDA") != std::string::npos) {
    EXPECT_EQ(out.find("CUDA"), std::string::npos) << "no choice, nothing to say: " << out;
    return;
  }
  const std::string line = out.substr(0, out.find('\n'));
  EXPECT_TRUE(line.starts_with("using ")) << out;
  if (line.starts_with("using cpu")) {
    EXPECT_THAT(line, ContainsRegex(", no GPU: .+")) << "and why";
  }
}

struct BadCall {
  const char* arguments;
  int code;
  const char* says;
};

TEST_F(Program, VerboseSaysHowEachLayersProductsAreDone) {
  const std::string setting =
      "train " + small_ + "--set train.epochs=0 --set net.hidden=40s,10s,40d,40s --verbose ";
  const Result fast = run(setting + "--out fast");
  ASSERT_EQ(fast.code, 0) << fast.out;
  // x is real; 10 inputs are too few for the gradient's tables; d is real again.
  EXPECT_THAT(fast.out, ContainsRegex("layer 1: .*forward by dense product.*gradient by dense product"));
  EXPECT_THAT(fast.out, ContainsRegex("layer 2: .*forward by look-up .*gradient by look-up"));
  EXPECT_THAT(fast.out, ContainsRegex("layer 3: .*forward by look-up .*gradient by dense product"));
  EXPECT_THAT(fast.out, ContainsRegex("layer 4: .*forward by dense product.*gradient by dense product"));
  EXPECT_THAT(fast.out, ContainsRegex("output: .*forward by look-up .*gradient by look-up"));
  // x is shared and real, the layer's own s is neither.
  const Result hybrid = run("train " + small_ +
                            "--set train.epochs=0 --set net.hidden=40s+30d,10s+30d "
                            "--set train.estimator=G4 --verbose --out hybrid");
  ASSERT_EQ(hybrid.code, 0) << hybrid.out;
  EXPECT_THAT(hybrid.out, ContainsRegex("layer 1: .*forward by dense product.*gradient by dense product"));
  EXPECT_THAT(hybrid.out,
              ContainsRegex("layer 1, s to d: 40 x 30 .*forward by look-up .*gradient by look-up"));
  EXPECT_THAT(
      hybrid.out,
      ContainsRegex("layer 2, s to d: 10 x 30 .*forward by look-up .*gradient by dense product"));
  const Result plain = run(setting + "--plain --out plain");
  ASSERT_EQ(plain.code, 0) << plain.out;
  EXPECT_THAT(plain.out, HasSubstr("layer 2: "));
  EXPECT_THAT(plain.out, Not(HasSubstr("look-up")));
}

TEST_F(Program, BadInputGetsOneSentenceAndItsExitCode) {
  std::ofstream(directory_ / "bad.toml") << "[train]\nepoch = 3\n";
  for (const BadCall& call : std::initializer_list<BadCall>{
           {"train --set train.epoch=3", 2, "train.epochs"},
           {"train --config bad.toml", 2, "train.epoch"},
           {"train --config missing.toml", 2, "missing.toml"},
           {"train --set train.estimator=G9", 2, "G9"},
           {"train --set train.estimator=G5 --set train.particles=1", 2,
            "the gradient would be zero"},
           {"train --set train.estimator=G4 --set train.particles=1", 2, "its own draw"},
           {"train --set net.hidden=20x", 2, "20x"},
           {"train --set data.set=mnist --data nowhere", 2, "nowhere"},
           {"train --set data.set=mnist --data .", 2, "mnist"},
           {"train --set data.set=files --set data.train_x=nope.npy", 2, "nope.npy"},
           {"train --epochs 3", 2, "'--epochs': did you mean '--set train.epochs=3'?"},
           {"train --lr=0.1", 2, "'--lr': did you mean '--set train.learning_rate=0.1'?"},
           {"train --seed 3 --quiet", 2, "'--seed': did you mean '--set seed=3'?"},
           {"train --batch-size 10", 2, "did you mean '--set train.batch=10'?"},
           {"train --thread 2", 2, "'--thread': did you mean '--threads'?"},
           {"train --set train.lr=1", 2, "did you mean 'train.learning_rate'?"},
           {"train --output a", 2, "'--output': did you mean '--out'?"},
           {"train --gpu", 2, "did you mean '--device cuda'?"},
           {"eval . --particles 10", 2, "did you mean '--set eval.particles=10'?"},
           {"test", 2, "did you mean 'eval'?"},
           {"help", 2, "did you mean '--help'?"},
           {"train --fly 3", 2, "'--fly': sfnn train --help lists them"},
           {"trian", 2, "unknown command 'trian': did you mean 'train'?"},
           {"evaluate runs", 2, "did you mean 'eval'?"},
           {"eval", 2, "sfnn: run is required (sfnn eval --help says more)\n"},
           {"train --threads", 2, "sfnn: --threads"},
           {"train --set data.task=faces", 2, "faces"},
           {"train --device tpu", 2, "tpu"},
           {"train --threads -1", 2, "threads"},
           {"eval nowhere", 2, "nowhere"},
           {"sample nowhere", 2, "nowhere"},
           {"predict nowhere --input bad.toml", 2, "nowhere"},
           {"eval bad.toml", 1, "bad.toml"},
           {"train --init-from bad.toml", 1, "bad.toml"},
           {"sample bad.toml --out s.jpg", 2, "must end in .png"},
           {"sample bad.toml --rows 0", 2, "--rows"},
           {"train --set frobnicate=1", 2, "sfnn train --help lists them"},
           {"train --search-lr ''", 2, "--search-lr: is empty"},
           {"train --config ''", 2, "--config: is empty"},
           {"train --init-from ''", 2, "--init-from: is empty"},
           {"train --out ''", 2, "--out: is empty"},
           {"eval bad.toml --curve ''", 2, "--curve: is empty"},
           {"report bad.toml --out ''", 2, "--out: is empty"},
           {"estimators bad.toml --plot ''", 2, "--plot: is empty"},
           {"fly", 2, "unknown command 'fly'"},
           {"--fly", 2, "--fly"},
           {"devices fly", 2, "fly"}}) {
    const Result result = run(call.arguments, "env -u SFNN_DATA");
    EXPECT_EQ(result.code, call.code) << call.arguments << "\n" << result.out;
    EXPECT_NE(result.out.find(call.says), std::string::npos) << call.arguments << "\n"
                                                             << result.out;
    EXPECT_FALSE(fs::exists(directory_ / "runs")) << call.arguments;
    EXPECT_EQ(result.out.substr(result.out.rfind("sfnn: ")).find('\n') + 1,
              result.out.size() - result.out.rfind("sfnn: "))
        << "one line: " << result.out;
  }
}

TEST_F(Program, ACheckpointKeepsItsLayers) {
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=0 --out a").code, 0);
  const Result other = run("eval a --set net.hidden=10s");
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.out, HasSubstr("net.hidden cannot be changed here"));
  EXPECT_EQ(run("eval a --set 'net.hidden=[\"20s\", \"10s\"]'").code, 0) << "it is the same";
}

TEST_F(Program, DataAreAlsoLookedForBesideTheConfig) {
  fs::create_directories(directory_ / "there");
  for (const char* name : {"train.csv", "test.csv"})
    std::ofstream(directory_ / "there" / name) << "x,y\n0.5,0\n1.5,1\n0.25,0\n1.25,1\n";
  std::ofstream(directory_ / "there/c.toml")
      << "[data]\nset = \"files\"\ntrain_x = \"train.csv\"\ntest_x = \"test.csv\"\n"
         "target = \"y\"\noutput = \"softmax\"\n[train]\nepochs = 1\n";
  const Result train = run("train --config there/c.toml --out r", "env -u SFNN_DATA");
  EXPECT_EQ(train.code, 0) << train.out;
  EXPECT_EQ(run("eval r", "env -u SFNN_DATA").code, 0);
}

// Else `eval demo` would evaluate nothing and start the demo.
TEST_F(Program, ARunMayHaveTheNameOfACommand) {
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=0 --out demo").code, 0);
  const Result eval = run("eval demo");
  EXPECT_EQ(eval.code, 0) << eval.out;
  EXPECT_THAT(eval.out, HasSubstr("test NLL"));
}

TEST_F(Program, EveryHelpHasExamplesAndExitCodes) {
  const std::string all = run("--help").out;
  std::istringstream list(all.substr(all.find("Subcommands:\n") + 13));
  std::vector<std::string> commands;
  for (std::string line; std::getline(list, line);)
    if (line.starts_with("  ") && line[2] != ' ')
      commands.push_back(line.substr(2, line.find(' ', 2) - 2));
  EXPECT_THAT(commands, testing::IsSupersetOf({"train", "eval", "completion", "demo"}));
  for (const std::string& command : commands) {
    const std::string help = run(command + " --help").out;
    EXPECT_NE(help.find("Examples:\n  "), std::string::npos) << command;
    const std::size_t codes = help.find("Exit codes: 0 done");
    EXPECT_NE(codes, std::string::npos) << command;
    EXPECT_EQ(help.find("Exit codes: 0 done", codes + 1), std::string::npos) << help;
    EXPECT_EQ(help.find("{false}"), std::string::npos) << help;
    EXPECT_EQ(help.find(" in ["), std::string::npos) << help;
  }
}

TEST_F(Program, HelpListsTheConfigKeys) {
  const Result result = run("train --help");
  EXPECT_EQ(result.code, 0);
  for (const char* key :
       {"train.learning_rate", "data.binarize", "net.hidden", "eval.particles", "--resume"}) {
    EXPECT_NE(result.out.find(key), std::string::npos) << key;
  }
}

TEST_F(Program, ProfiledStepsLieInTheRun) {
  const std::string train = "train " + small_ + "--set train.epochs=2 --dry-run --profile-steps ";
  EXPECT_EQ(run(train + "1:8").code, 0);  // eight steps
  for (const char* range : {"1:9", "3:3", "5", "a:b", "1:2x", "-1:2"}) {
    const Result result = run(train + range);
    EXPECT_EQ(result.code, 2) << range;
    EXPECT_NE(result.out.find("--profile-steps"), std::string::npos) << result.out;
  }
  // On a CPU there is nothing to mark, and nothing changes.
  EXPECT_EQ(run("train " + small_ + "--set train.epochs=1 --profile-steps 1:2").code, 0);
}

}  // namespace
}  // namespace sfnn
