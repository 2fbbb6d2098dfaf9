// `sfnn train --search-lr`: the grid, the choice, what is kept of it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "host/formats/atomic_file.hpp"
#include "host/run/metrics.hpp"
#include "tests/support/program.hpp"

namespace sfnn {
namespace {

const std::string kOptions = "--set train.epochs=3 --set train.batch=20 ";

TEST_F(Program, SearchesTheRateAndTrainsWithTheBest) {
  const Result found = run("train " + small_ + kOptions + "--search-lr 1e-4:30 --out found");
  ASSERT_EQ(found.code, 0) << found.out;
  const auto trials = read_metrics(directory_ / "found/search.jsonl");
  ASSERT_EQ(trials.size(), 12u);  // 30, 10, ..., 0.0003, 0.0001
  EXPECT_EQ(trials.front()["learning_rate"], 30);
  EXPECT_EQ(trials.back()["learning_rate"], 1e-4);
  double best_nll = 1e9, best_rate = 0;
  int given_up = 0;
  for (const auto& trial : trials) {
    const char* words = trial["end"] == "finished" ? "finished" : "given up: ";
    EXPECT_NE(found.out.find(words), std::string::npos) << found.out;
    if (trial["end"] != "finished") {
      ++given_up;
      continue;
    }
    const double nll = trial["valid_nll"].back();
    if (nll < best_nll) best_nll = nll, best_rate = trial["learning_rate"];
  }
  EXPECT_GT(given_up, 0);
  EXPECT_GT(best_rate, 1e-3);
  EXPECT_LT(best_rate, 10);
  EXPECT_EQ(newest("found").config.train.learning_rate, best_rate);
  EXPECT_NE(found.out.find("  best: " + fmt::format("{}\n", best_rate)), std::string::npos)
      << found.out;

  // The same numbers again, and with another number of threads.
  ASSERT_EQ(run("train " + small_ + kOptions + "--search-lr 1e-4:30 --threads 1 --out again").code,
            0);
  EXPECT_EQ(read_metrics(directory_ / "again/search.jsonl"), trials);
}

TEST_F(Program, ABestRateAtTheEdgeOfTheRangeIsSaid) {
  const std::string search = "train " + small_ + kOptions + "--search-lr ";
  EXPECT_NE(run(search + "1e-4:1e-3 --out low").out.find("best: 0.001, the highest tried"),
            std::string::npos);
  const std::string one = run(search + "1e-3:1e-3 --out one").out;
  EXPECT_NE(one.find("best: 0.001\n"), std::string::npos) << one;
}

TEST_F(Program, AResumedRunDoesNotSearchAgain) {
  const std::string command = "train " + small_ + kOptions + "--search-lr 0.01:0.1 --out here ";
  ASSERT_EQ(run(command).code, 0);
  const auto trials = fs::last_write_time(directory_ / "here/search.jsonl");
  const Result resumed = run(command + "--resume");
  EXPECT_EQ(resumed.code, 0) << resumed.out;
  EXPECT_EQ(resumed.out.find("validation examples"), std::string::npos) << resumed.out;
  EXPECT_EQ(fs::last_write_time(directory_ / "here/search.jsonl"), trials);
  EXPECT_EQ(run(command).code, 2);  // and is not overwritten
}

TEST_F(Program, AStoppedSearchGoesOnAfterTheRatesItHasTried) {
  const std::string command = "train " + small_ + kOptions + "--search-lr 0.001:0.1 --out here ";
  const Result stopped =
      run(command +
          "& pid=$!; while [ ! -e here/search.jsonl ]; do sleep 0.01; done; kill -TERM $pid; wait "
          "$pid; exit $?; #");
  ASSERT_EQ(stopped.code, 3) << stopped.out;
  const auto before = read_metrics(directory_ / "here/search.jsonl");
  ASSERT_LT(before.size(), 5u);
  ASSERT_EQ(run(command + "--resume").code, 0);
  const auto after = read_metrics(directory_ / "here/search.jsonl");
  ASSERT_EQ(after.size(), 5u);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin()));

  ASSERT_EQ(run("train " + small_ + kOptions + "--search-lr 0.001:0.1 --out whole").code, 0);
  EXPECT_EQ(read_metrics(directory_ / "whole/search.jsonl"), after);
  EXPECT_EQ(newest("whole").params(), newest("here").params());
}

// Whatever ends a search, the directory knows what it was.
TEST_F(Program, ASearchGoesOnFromItsDirectoryAlone) {
  for (const char* signal : {"TERM", "KILL"}) {
    const std::string name = std::string("after-") + signal;
    const std::string command = "train " + small_ + kOptions + "--set seed=5 --search-lr 0.01:0.1 ";
    const Result stopped = run(
        command + "--search-epochs 3 --out " + name + " & pid=$!; while [ ! -e " + name +
        "/search.json ]; do sleep 0.01; done; kill -" + signal + " $pid; wait $pid; exit $?; #");
    ASSERT_NE(stopped.code, 0) << stopped.out;
    ASSERT_FALSE(fs::exists(directory_ / name / "config.toml"));
    const Result resumed = run("train --resume --out " + name);
    ASSERT_EQ(resumed.code, 0) << resumed.out;
    EXPECT_EQ(resumed.out.find("there is no run"), std::string::npos) << resumed.out;
    EXPECT_EQ(newest(name).config.train.seed, 5u);
    const auto trials = read_metrics(directory_ / name / "search.jsonl");
    ASSERT_EQ(trials.size(), 3u);  // 0.1, 0.03, 0.01
    EXPECT_EQ(trials[0]["epochs"], 3);
  }
}

// A search's files are read as any that others made: what no search has written is refused.
TEST_F(Program, AnEditedSearchIsRefused) {
  const std::string command = "train " + small_ + kOptions + "--search-lr 0.03:0.1 --out here";
  ASSERT_EQ(run(command).code, 0);
  const auto options = read_metrics(directory_ / "here/search.json").at(0);
  const auto trials = read_metrics(directory_ / "here/search.jsonl");
  ASSERT_EQ(trials.size(), 2u);
  const auto refused = [&](MetricsLine search, MetricsLine trial) {
    fs::remove_all(directory_ / "edited");
    fs::create_directories(directory_ / "edited");
    append_metrics(directory_ / "edited/search.json", search);
    append_metrics(directory_ / "edited/search.jsonl", trial);
    append_metrics(directory_ / "edited/search.jsonl", trials[1]);
    const Result result = run("train --resume --out edited");
    EXPECT_EQ(result.out.find("json.exception"), std::string::npos) << result.out;
    return result.code == 1 && result.out.find(": remove it") != std::string::npos;
  };
  EXPECT_FALSE(refused(options, trials[0]));
  const auto list = [](std::initializer_list<MetricsLine> items) {
    MetricsLine array = MetricsLine::array();
    for (const MetricsLine& item : items) array.push_back(item);
    return array;
  };
  const MetricsLine none = list({}), text = "text", null;
  const std::pair<const char*, std::vector<MetricsLine>> bad_options[] = {
      {"epochs", {-1, 4'000'000'000'000'000'000, 1e300, 0.5, text, null}},
      {"low", {text, null, none}},
      {"high", {text, null, none}},
      {"config", {5, null, none}}};
  for (const auto& [key, values] : bad_options) {
    for (const MetricsLine& value : values) {
      MetricsLine edited = options;
      edited[key] = value;
      EXPECT_TRUE(refused(edited, trials[0])) << edited;
    }
  }
  const std::pair<const char*, std::vector<MetricsLine>> bad_trials[] = {
      {"valid_nll",
       {none, list({100.0}), list({100.0, nullptr}), list({100.0, text}), list({1, 2, 3}), text,
        null}},
      {"learning_rate", {text, null}},
      {"end", {text, null, 5}}};
  for (const auto& [key, values] : bad_trials) {
    for (const MetricsLine& value : values) {
      MetricsLine edited = trials[0];
      edited["end"] = "finished";
      edited[key] = value;
      EXPECT_TRUE(refused(options, edited)) << edited;
    }
  }
  MetricsLine of_another = trials[0];
  of_another["config"] = 5;
  EXPECT_FALSE(refused(options, of_another)) << "it does not count";
}

TEST_F(Program, ASearchLeavesTheFilesOfOthersAlone) {
  const std::string command = "train " + small_ + kOptions + "--search-lr 0.03:0.1 --out here";
  for (const std::string name : {"search.json", "search.jsonl", "lock"}) {
    for (const std::string text : {"{\"mine\":1}", "{\"mine\":1}\n", "mine"}) {
      fs::create_directories(directory_ / "here");
      write_file_atomically(directory_ / "here" / name, text);
      const Result result = run(command);
      EXPECT_NE(result.code, 0) << name << text;
      EXPECT_NE(result.out.find("here/" + name), std::string::npos) << result.out;
      EXPECT_EQ(read_file(directory_ / "here" / name, 100), text);
      fs::remove_all(directory_ / "here");
    }
  }
}

// A second one would repeat its trials, and write over them.
TEST_F(Program, TwoSearchesInOneDirectoryAreKeptApart) {
  const std::string command = "train " + small_ + kOptions + "--search-lr 0.001:0.1 --out here";
  const Result second =
      run(command +
          " --search-epochs 100000 & pid=$!; while [ ! -e here/search.json ]; do sleep "
          "0.01; done; '" SFNN_PROGRAM "' " +
          command + " 2>&1; code=$?; kill -KILL $pid; wait $pid; exit $code; #");
  EXPECT_EQ(second.code, 2) << second.out;
  EXPECT_NE(second.out.find("here is in use by process"), std::string::npos) << second.out;
}

TEST_F(Program, ASearchThatCannotBeIsRefused) {
  struct {
    const char *arguments, *says;
    int code;
  } const calls[] = {{"--search-lr 1e-4:1 --set data.valid=0", "data.valid", 2},
                     {"--search-lr 1", "1e-4:1", 2},
                     {"--search-lr 1:0.1", "1e-4:1", 2},
                     {"--search-lr 0.4:0.9", "0.4:0.9", 2},
                     {"--search-lr 1e5:1e6", "try lower", 1}};
  for (const auto& call : calls) {
    const Result result = run("train " + small_ + call.arguments + " --out here");
    EXPECT_EQ(result.code, call.code) << call.arguments << result.out;
    EXPECT_NE(result.out.find(call.says), std::string::npos) << call.arguments << result.out;
  }
}

}  // namespace
}  // namespace sfnn
