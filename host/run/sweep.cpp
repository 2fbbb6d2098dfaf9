#include "host/run/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "host/base/error.hpp"
#include "host/formats/atomic_file.hpp"
#include "host/formats/file_lock.hpp"
#include "host/run/records.hpp"
#include "host/run/sweep_files.hpp"
#include "host/run/test_figures.hpp"
#include "host/run/training_run.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;
using End = SweepOutcome::End;

// --- where and how many ------------------------------------------------------------------------

// The device of each job.
std::vector<BackendOptions> jobs_of(const SweepOptions& options, std::size_t runs) {
  BackendOptions backend = options.machine.backend;
  std::vector<std::string> devices;
  if (backend.device == "auto" || backend.device == "cuda") {
    for (const DeviceInfo& device : list_devices(nullptr))
      if (device.name.starts_with("cuda")) devices.push_back(device.name);
  }
  const auto cores = std::int64_t(std::max(1u, std::thread::hardware_concurrency()));
  const std::int64_t threads = backend.threads;
  std::int64_t count = options.jobs;
  if (count == 0)
    count = !devices.empty()
                ? std::int64_t(devices.size())
                : std::max<std::int64_t>(1, cores / std::max<std::int64_t>(1, threads));
  count = std::clamp<std::int64_t>(std::int64_t(runs), 1, count);
  if (threads == 0) backend.threads = int(std::max<std::int64_t>(1, cores / count));
  std::vector<BackendOptions> jobs(std::size_t(count), backend);
  for (std::size_t j = 0; j < jobs.size() && !devices.empty(); ++j)
    jobs[j].device = devices[j % devices.size()];
  return jobs;
}

// Data sets that runs have in common, loaded once and kept as long as one of them trains.
class DataCache {
 public:
  std::shared_ptr<const DataSet> get(const Config& config, const MachineOptions& machine) {
    std::string key;
    for (const auto& [name, text] : key_texts(config))
      if (name.starts_with("data.")) key += fmt::format("{}={}\n", name, text);
    const std::lock_guard lock(mutex_);
    std::shared_ptr<const DataSet> data = known_[key].lock();
    if (!data) known_[key] = data = std::make_shared<const DataSet>(data_of(config, machine));
    return data;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const DataSet>> known_;
};

// --- progress ----------------------------------------------------------------------------------

// What the jobs tell, one at a time: a line for each run that ends, and one that moves.
class Board {
 public:
  Board(Progress& progress, std::size_t runs) : progress_(progress), runs_(runs) {}

  void warn(const std::string& name, const std::string& line) {
    const std::lock_guard lock(mutex_);
    progress_.warn(fmt::format("{}: {}", name, line));
  }
  void show(const std::string& name, const std::string& state) {
    const std::lock_guard lock(mutex_);
    if (!state.empty()) states_[name] = state;
    if (!progress_.due()) return;
    std::string line = fmt::format("{} of {} runs done", ended_, runs_);
    for (const auto& [run, at] : states_) line += fmt::format("; {} {}", run, at);
    progress_.show(line);
  }
  void end(const std::string& name, const std::string& line, bool failed) {
    const std::lock_guard lock(mutex_);
    states_.erase(name);
    ++ended_;
    const std::string text = fmt::format("[{}/{}] {}: {}", ended_, runs_, name, line);
    failed ? progress_.warn(text) : progress_.say(text);
  }
  void leave(const std::string& name) {
    const std::lock_guard lock(mutex_);
    states_.erase(name);
  }

 private:
  std::mutex mutex_;
  Progress& progress_;
  std::size_t runs_, ended_ = 0;
  std::map<std::string, std::string> states_;  // of the runs that are being trained
};

class RunProgress : public Progress {
 public:
  RunProgress(Board& board, std::string name) : board_(board), name_(std::move(name)) {}

  void warn(const std::string& line) override { board_.warn(name_, line); }
  bool due() const override {
    return std::chrono::steady_clock::now() - last_ > std::chrono::milliseconds(200);
  }
  void step(const ProgressFigures& figures) override {
    last_ = std::chrono::steady_clock::now();
    board_.show(name_, fmt::format("epoch {}/{}", figures.epoch, figures.epochs));
  }
  void epoch(const ProgressFigures& figures, double) override { step(figures); }
  void show(const std::string&) override {
    if (!due()) return;
    last_ = std::chrono::steady_clock::now();
    board_.show(name_, "searches its rate");
  }

 private:
  Board& board_;
  std::string name_;
  std::chrono::steady_clock::time_point last_{};
};

// --- one run -----------------------------------------------------------------------------------

// What the run's own files say of it.
SweepOutcome finished_outcome(const RunDirectory& directory, const Config& config) {
  SweepOutcome outcome{.end = End::finished};
  const auto epochs = read_epochs(directory.metrics(), [](const std::string&) {});
  const bool average = config.eval.weights == EvalWeights::average;
  std::optional<double> best;
  for (const EpochRecord& epoch : epochs) {
    const auto by_P = average ? epoch.average_valid_nll : epoch.valid_nll,
               by_R = average ? epoch.average_valid_nll_proposal : epoch.valid_nll_proposal,
               judged = config.selects_by_proposal() ? by_R : by_P;
    if (!judged || (best && *judged >= *best)) continue;
    best = judged;
    outcome.valid_nll = by_P;
    outcome.valid_nll_proposal = by_R;
  }
  if (!epochs.empty()) outcome.test = test_in(epochs.back(), config.eval.weights);
  return outcome;
}

class Sweep {
 public:
  Sweep(fs::path directory, const SweepPlan& plan, const SweepOptions& options, Progress& progress)
      : directory_(std::move(directory)),
        plan_(plan),
        options_(options),
        runs_(runs_of(plan)),
        board_(progress, runs_.size()),
        outcomes_(runs_.size()) {}

  std::vector<SweepOutcome> train() {
    const std::vector<BackendOptions> jobs = jobs_of(options_, runs_.size());
    std::vector<std::thread> threads;
    for (const BackendOptions& job : jobs) threads.emplace_back([this, job] { work(job); });
    for (std::thread& thread : threads) thread.join();
    return std::move(outcomes_);
  }

 private:
  // Takes run after run until there is none left.
  void work(const BackendOptions& job) {
    for (std::size_t r; (r = next_++) < runs_.size() && !options_.stop();) {
      const std::string& name = runs_[r].name;
      try {
        outcomes_[r] = train(runs_[r], job);
      } catch (const std::exception& error) {
        outcomes_[r] = {.end = End::failed, .error = error.what()};
      }
      tell(name, outcomes_[r]);
    }
  }

  void tell(const std::string& name, const SweepOutcome& outcome) {
    switch (outcome.end) {
      case End::finished:
        board_.end(name, outcome.test ? "test " + test_figures(*outcome.test) : "finished", false);
        break;
      case End::failed:
        board_.end(name, outcome.error, true);
        break;
      case End::stopped:
        board_.leave(name);
        break;
    }
  }

  SweepOutcome train(const SweepRun& wanted, const BackendOptions& job) {
    RunProgress progress(board_, wanted.name);
    const MachineOptions machine{options_.machine.data_root, job};
    Config config = wanted.config;
    Run run(directory_ / wanted.name);
    const bool goes_on = run.directory().holds_run();
    if (goes_on) {
      // A search has left its rate in the run's config.
      if (plan_.search) config.train.learning_rate = run.config()->train.learning_rate;
      run.require_continues(config);
      run.open([&](const std::string& line) { progress.warn(line); });
      if (run.is_finished(config)) return finished_outcome(run.directory(), config);
      run.require_lock();
    }
    const auto backend = make_backend(job);
    const auto data = data_.get(config, machine);
    require_memory(plan_training(*backend, network_of(config, *data),
                                 train_options_of(config, machine, *backend, run.newest()), *data),
                   *backend);
    if (plan_.search && !goes_on) {
      const auto rate = search_rate(*backend, machine, *data,
                                    {.config = config,
                                     .range = *plan_.search,
                                     .epochs = plan_.search_epochs,
                                     .stop = options_.stop},
                                    run.directory(), progress);
      if (!rate) return {.end = End::stopped};
      config.train.learning_rate = *rate;
    }
    TrainingRun training(*backend, config, {.machine = machine, .stop = options_.stop}, *data,
                         std::move(run), progress);
    goes_on ? training.resume() : training.start();
    if (training.train() == TrainingRun::End::stopped) return {.end = End::stopped};
    return finished_outcome(training.directory(), config);
  }

  fs::path directory_;
  const SweepPlan& plan_;
  const SweepOptions& options_;
  std::vector<SweepRun> runs_;
  Board board_;
  DataCache data_;
  std::atomic<std::size_t> next_ = 0;
  std::vector<SweepOutcome> outcomes_;  // each written by the job that has the run
};

// Locks the directory for the plan, whose sweep.json is written first of all.
std::unique_ptr<FileLock> open_sweep(const fs::path& directory, const SweepPlan& plan,
                                     bool resume) {
  const auto require_fit = [&] {
    if (holds_sweep(directory)) {
      if (!resume) {
        throw ConfigError(fmt::format(
            "{} holds a sweep already: continue it with --resume, or choose another --out",
            directory.string()));
      }
      if (!(saved_sweep(directory) == plan)) {
        throw ConfigError(fmt::format(
            "{} holds another sweep: continue that one with --resume --out alone, or choose "
            "another --out",
            directory.string()));
      }
    } else if (RunDirectory(directory).holds_run()) {
      throw ConfigError(
          fmt::format("{} holds a run, not a sweep: choose another --out", directory.string()));
    }
  };
  require_fit();
  make_directories(directory);
  std::string holder;
  auto lock = FileLock::take(directory / "lock", holder);
  if (!lock) {
    throw ConfigError(fmt::format("{} is in use by {}: wait for its end, or choose another --out",
                                  directory.string(), holder));
  }
  require_fit();
  if (!holds_sweep(directory)) write_file_atomically(sweep_file(directory), to_text(plan));
  return lock;
}

}  // namespace

std::vector<SweepOutcome> run_sweep(const fs::path& directory, const SweepPlan& plan,
                                    const SweepOptions& options, Progress& progress) {
  Sweep sweep(directory, plan, options, progress);  // refuses what is no plan
  const auto lock = open_sweep(directory, plan, options.resume);
  std::vector<SweepOutcome> outcomes = sweep.train();
  const bool all = std::ranges::none_of(
      outcomes, [](const SweepOutcome& outcome) { return outcome.end == End::stopped; });
  if (all) write_file_atomically(directory / "summary.csv", summary_csv(plan, outcomes));
  return outcomes;
}

}  // namespace sfnn
