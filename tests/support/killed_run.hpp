// The program as a child that is killed and resumed, and what a run leaves that must not depend on
// that.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "host/run/checkpoint.hpp"
#include "host/run/metrics.hpp"
#include "tests/support/random.hpp"

namespace sfnn {

class Child {
 public:
  // Starts it; what it prints goes to `log`.
  Child(const std::vector<std::string>& command, const std::filesystem::path& log);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();  // kills what still runs

  void signal(int number) const;
  bool has_ended();
  int wait();  // its exit code, 128 + the signal that ended it
  std::size_t resident_bytes() const;

 private:
  pid_t pid_;
  std::optional<int> code_;
};

// Everything but how long it took.
struct RunOutcome {
  Checkpoint newest;
  std::optional<Checkpoint> best;
  std::vector<MetricsLine> metrics;
};
RunOutcome outcome_of(const std::filesystem::path& run);
// The pieces that differ in any bit: "momentum", "best", ...
std::vector<std::string> differences(const RunOutcome&, const RunOutcome&);

struct Kills {
  int count = 0;
  int inside_save = 0;  // those that left a temporary file behind
  int stops = 0;        // with the state saved
};

// A run of the program: `train` with these arguments, in directories given one by one.
struct ProgramRun {
  std::string program;
  std::vector<std::string> arguments;

  // Trains to the end. Throws std::runtime_error, with the program's output, if it fails.
  void train(const std::filesystem::path& run) const;
  // The same with random kills, `at_most` of them, each followed by a resume: at any moment of the
  // `seconds` that the run takes, or as a file of a checkpoint is being written. Throws if one
  // leaves a pointer to a checkpoint that is not whole.
  Kills train_with_kills(const std::filesystem::path& run, double seconds, int at_most,
                         Random&) const;

 private:
  std::vector<std::string> command(const std::filesystem::path& run) const;
};

}  // namespace sfnn
