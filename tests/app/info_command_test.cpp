// What `sfnn info` and `sfnn devices` print.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "host/run/metrics.hpp"
#include "tests/support/trained_program.hpp"

namespace sfnn {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using InfoCommand = TrainedProgram;

TEST_F(InfoCommand, InfoShowsNetworkStateHistoryAndConfig) {
  train("first", "--set seed=77");
  const Result info = run("info first");
  ASSERT_EQ(info.code, 0) << info.out;
  for (const char* text :
       {"392-20s-10s-392 bernoulli", "parameters   12382", "layer1.W_s   392 x 20",
        "step 8, epoch 2 of 2", "seeds        77 for weights", "tiles        ", "valid NLL",
        "\ntest         NLL ", "(default 1)", "session"}) {
    EXPECT_THAT(info.out, HasSubstr(text));
  }
  // A row an epoch, with the figures of metrics.jsonl.
  const auto lines = read_metrics(directory_ / "first/metrics.jsonl");
  const auto row = [&](int epoch) {
    return fmt::format("\n{:>19}  {:>14.3f}  {:>14.3f}", epoch,
                       lines[epoch - 1]["train_c_hat"].get<double>(),
                       lines[epoch - 1]["valid_nll"].get<double>());
  };
  EXPECT_THAT(info.out, HasSubstr(row(1)));
  EXPECT_THAT(info.out, HasSubstr(row(2)));
  const std::string step = step_files("first").front();
  const Result of_file = run("info first/checkpoints/" + step);
  EXPECT_EQ(of_file.code, 0) << of_file.out;
  EXPECT_THAT(of_file.out, HasSubstr("392-20s-10s-392"));
  EXPECT_THAT(of_file.out, HasSubstr(row(1)));
  EXPECT_THAT(of_file.out, Not(HasSubstr(row(2)))) << "that was later";
  EXPECT_EQ(run("info nowhere").code, 2);
}

TEST_F(InfoCommand, SessionsTellWhenAndOnWhatARunWasTrained) {
  train("first", "");
  const auto sessions = read_metrics(directory_ / "first/sessions.jsonl");
  ASSERT_EQ(sessions.size(), 1u);
  EXPECT_EQ(sessions[0]["step"], 0);
  EXPECT_THAT(sessions[0]["device"].get<std::string>(), HasSubstr("cpu"));
  EXPECT_TRUE(std::regex_match(sessions[0]["started"].get<std::string>(),
                               std::regex(R"(\d{4}-\d\d-\d\d \d\d:\d\d UTC)")));
  // Resuming a finished run does nothing, so it prints nothing.
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=2 --out first --resume").code, 0);
  EXPECT_EQ(read_metrics(directory_ / "first/sessions.jsonl").size(), 1u);
}

// A block for a bug report: one line each, nothing of the user's.
TEST_F(InfoCommand, MachineShowsProgramAndMachine) {
  const Result machine = run("info --machine");
  ASSERT_EQ(machine.code, 0) << machine.out;
  std::istringstream lines(machine.out);
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    names.push_back(line.substr(0, line.find(' ')));
    EXPECT_GT(line.size(), 11u) << line;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"sfnn", "build", "system", "processor", "backend",
                                             "products", "gpu", "driver"}));
  EXPECT_THAT(machine.out, HasSubstr(run("--version").out.substr(5)));
  const std::string devices = run("devices").out;
  EXPECT_THAT(devices, HasSubstr(machine.out.substr(machine.out.find("cpu ("), 9)));
  EXPECT_THAT(machine.out, HasSubstr("dense product ("));
  EXPECT_EQ(run("info").code, 2);
  EXPECT_THAT(run("info").out, HasSubstr("run is required"));
  train("first", "");
  EXPECT_EQ(run("info first --machine").code, 2) << "one or the other";
}

TEST_F(InfoCommand, DevicesListsTheCpu) {
  const Result devices = run("devices");
  EXPECT_EQ(devices.code, 0);
  EXPECT_THAT(devices.out, testing::StartsWith("cpu"));
  EXPECT_THAT(devices.out, HasSubstr("thread"));
  EXPECT_THAT(run("--version").out, testing::StartsWith("sfnn "));
}

}  // namespace
}  // namespace sfnn
