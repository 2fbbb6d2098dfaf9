// A sweep: one config with some of its values varied, each combination trained with each seed, in a
// run directory of its own.
//
//   sweep.json    what was asked for, from the beginning, so that --resume needs nothing else
//   summary.csv   mean and spread over the seeds, written at the end
//   lock          held by the process that sweeps
//   NAME/         the runs, as `sfnn train --out DIR/NAME` would leave them
//
// Runs are trained in this process, several at once, and share the data sets that they have in
// common. Each is as exact as a run of its own: stopped, killed and resumed, it ends with the same
// bits, whatever trains beside it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "host/run/assemble.hpp"
#include "host/run/progress.hpp"
#include "host/run/rate_search.hpp"
#include "host/train/evaluate.hpp"

namespace sfnn {

struct SweepPlan {
  Config config;                                 // what the runs have in common
  std::vector<std::vector<std::string>> points;  // "train.estimator=G3", ...: settings of each
  std::vector<std::uint64_t> seeds;              // for each point; empty: the config's own
  std::optional<RateRange> search;               // each run looks for its rate first
  std::int64_t search_epochs = 0;                // as in RateSearch

  friend bool operator==(const SweepPlan& a, const SweepPlan& b);
};

// All combinations of the values of "KEY=a,b": commas in [...] and "..." belong to a value, as do
// those of net.hidden=200s,200s, and LOW:HIGH of train.learning_rate is its grid 1, 3 x 10^k. One
// empty point if there are no keys.
std::vector<std::vector<std::string>> grid_of(const std::vector<std::string>& axes);
std::vector<std::uint64_t> parse_seeds(const std::string& text);  // "1..5", "1,2,7"; ConfigError

struct SweepRun {
  std::string name;  // of its directory: "estimator=G3_seed=1"
  std::size_t point = 0;
  Config config;
};
// Point by point, each with its seeds. Throws ConfigError if a setting is not one, if there are no
// runs, or if two of them are the same.
std::vector<SweepRun> runs_of(const SweepPlan&);

bool holds_sweep(const std::filesystem::path&);
// Throws DataError, or ConfigError for its config, if sweep.json holds anything else.
SweepPlan saved_sweep(const std::filesystem::path&);
// Directories of its runs that have been started, in the order of runs_of.
std::vector<std::filesystem::path> started_runs(const std::filesystem::path&);

struct SweepOptions {
  MachineOptions machine;  // threads 0: the cores are shared out among the jobs
  std::int64_t jobs = 0;   // runs at once; 0: one per GPU, or one per core
  bool resume = false;     // continue the directory's sweep; if there is none, begin
  std::function<bool()> stop = [] { return false; };  // asked after each step of each run
};

struct SweepOutcome {
  enum class End { finished, stopped, failed } end = End::stopped;
  std::string error;                                    // of a failed one
  std::optional<Evaluation> test;                       // of a finished one
  std::optional<double> valid_nll, valid_nll_proposal;  // of the epoch that eval.select prefers
};

// One outcome per run of runs_of. A run that fails is reported to `progress` and does not stop the
// others; resuming tries it again. Throws ConfigError if the directory holds another sweep or
// anything else, or if another process sweeps there.
std::vector<SweepOutcome> run_sweep(const std::filesystem::path&, const SweepPlan&,
                                    const SweepOptions&, Progress&);

// Mean and spread over the seeds, one row per point: for people, and as summary.csv.
std::string summary_table(const SweepPlan&, const std::vector<SweepOutcome>&);
std::string summary_csv(const SweepPlan&, const std::vector<SweepOutcome>&);

}  // namespace sfnn
