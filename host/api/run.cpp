#include "host/run/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <sfnn/run.hpp>

#include "host/api/impl.hpp"
#include "host/base/error.hpp"
#include "host/run/rate_search.hpp"
#include "host/run/records.hpp"
#include "host/run/test_figures.hpp"
#include "host/run/training_run.hpp"

namespace sfnn {
namespace {

class CallingProgress : public Progress {
 public:
  explicit CallingProgress(const Callbacks& callbacks) : callbacks_(callbacks) {}

  void say(const std::string& line) override {
    if (callbacks_.message) callbacks_.message(line);
  }
  void warn(const std::string& line) override {
    if (callbacks_.warning) callbacks_.warning(line);
  }
  bool due() const override { return bool(callbacks_.step); }
  void step(const ProgressFigures& figures) override { callbacks_.step(figures); }
  void epoch(const ProgressFigures& figures, double) override {
    if (callbacks_.step) callbacks_.step(figures);  // an epoch's last step is one, too
    if (callbacks_.epoch) callbacks_.epoch(figures);
  }

 private:
  const Callbacks& callbacks_;
};

RunOptions run_options(const Device& device, const TrainRunOptions& options,
                       const Callbacks& callbacks) {
  RunOptions result{
      .machine = machine_of(device, options.data_root),
      .on_save_error = options.continue_on_save_error ? OnSaveError::go_on : OnSaveError::stop};
  if (callbacks.stop) result.stop = callbacks.stop;
  return result;
}

// Throws if the device has no room for it.
TrainPlan plan_of(const Device& device, const Config& config, const DataSet& data,
                  const RunOptions& options, const Run& run) {
  require(data.test.count > 0, "a run ends with its test: there are no test examples");
  Backend& backend = backend_of(device);
  const TrainOptions train = train_options_of(config, options.machine, backend, run.newest());
  const TrainPlan plan = plan_training(backend, network_of(config, data), train, data);
  require_memory(plan, backend);
  return plan;
}

// Searches the rate if asked to, then trains. goes_on: the directory's run is opened.
RunResult train(const Device& device, Config config, const Data& data, Run run, bool goes_on,
                const std::optional<RateSearchOptions>& search, RunOptions options,
                const Callbacks& callbacks) {
  const DataSet& set = data.impl()->set;
  Backend& backend = backend_of(device);
  CallingProgress progress(callbacks);
  options.plan = plan_of(device, config, set, options, run);
  if (search) {
    const auto rate = search_rate(backend, options.machine, set,
                                  {.config = config,
                                   .range = {search->low, search->high},
                                   .epochs = search->epochs,
                                   .stop = options.stop},
                                  run.directory(), progress);
    if (!rate) return {};
    config.train.learning_rate = options.plan->schedule.max_rate = *rate;
  }
  TrainingRun training(backend, config, options, set, std::move(run), progress);
  if (goes_on) {
    training.resume();
  } else {
    training.start();
  }
  const bool finished = training.train() == TrainingRun::End::finished;
  return {.finished = finished,
          .step = training.trainer().step(),
          .learning_rate = config.train.learning_rate,
          .test = training.test()};
}

RunResult result_of_finished(const Run& run, const Config& config, const Warn& warn) {
  const auto epochs = read_epochs(run.directory().metrics(), warn);
  return {.finished = true,
          .step = run.newest()->state.step,
          .learning_rate = config.train.learning_rate,
          .test = epochs.empty() ? std::nullopt : test_in(epochs.back(), config.eval.weights)};
}

}  // namespace

RunResult train_run(const Device& device, const std::filesystem::path& directory,
                    const RunConfig& wanted, const TrainRunOptions& options,
                    const Callbacks& callbacks) {
  Run run(directory);
  require(!run.directory().holds_run(),
          fmt::format("{} holds a run already: resume it, or choose another directory",
                      directory.string()));
  const Data data = options.data ? *options.data : Data::load(wanted, options.data_root);
  return train(device, config_on(wanted, data), data, std::move(run), /*goes_on=*/false,
               options.search, run_options(device, options, callbacks), callbacks);
}

RunResult resume_run(const Device& device, const std::filesystem::path& directory,
                     const TrainRunOptions& options, const Callbacks& callbacks) {
  const RunOptions how = run_options(device, options, callbacks);
  const auto data = [&](const Config& config) {
    return options.data ? *options.data : data_of_run(config, how.machine);
  };
  Run run(directory);
  if (std::optional<Config> config = run.config()) {
    if (options.epochs) config->train.epochs = *options.epochs;
    config->validate();
    const Warn warn = [&](const std::string& line) { CallingProgress(callbacks).warn(line); };
    run.open(warn);
    if (run.is_finished(*config)) return result_of_finished(run, *config, warn);
    run.require_lock();
    return train(device, *config, data(*config), std::move(run), /*goes_on=*/true, std::nullopt,
                 how, callbacks);
  }
  if (const auto saved = saved_search(run.directory())) {
    const RateSearchOptions search{saved->range.low, saved->range.high, saved->epochs};
    return train(device, saved->config, data(saved->config), std::move(run), /*goes_on=*/false,
                 search, how, callbacks);
  }
  run.directory().require_config_of_checkpoints();
  throw ConfigError(fmt::format("{} holds no run to resume", directory.string()));
}

// --- reading -----------------------------------------------------------------------------------

namespace {

std::vector<double>& values_of(std::string_view key, std::size_t epochs,
                               std::vector<MetricColumn>& columns) {
  const auto found = std::ranges::find(columns, key, &MetricColumn::key);
  if (found != columns.end()) return found->values;
  const std::vector<double> unknown(epochs, std::numeric_limits<double>::quiet_NaN());
  return columns.emplace_back(MetricColumn{std::string(key), unknown}).values;
}

}  // namespace

SavedRun::SavedRun(std::filesystem::path directory) : directory_(std::move(directory)) {
  require(RunDirectory(directory_).holds_run(),
          fmt::format("{} is not a run directory: it has no config.toml", directory_.string()));
}

RunConfig SavedRun::config() const {
  return RunConfig(RunConfig::Impl{RunDirectory(directory_).config()});
}
Data SavedRun::data(const std::filesystem::path& root) const {
  return data_of_run(RunDirectory(directory_).config(), {.data_root = root.string()});
}
std::vector<EpochRecord> SavedRun::epochs() const {
  return read_epochs(RunDirectory(directory_).metrics(), [](const std::string&) {});
}
std::vector<MetricColumn> SavedRun::metrics() const {
  std::vector<MetricColumn> columns;
  const std::vector<EpochRecord> records = epochs();
  for (std::size_t line = 0; line < records.size(); ++line)
    visit_record(records[line], [&](std::string_view key, const auto& value, IfEmpty) {
      if constexpr (requires { double(*value); }) {
        if (value) values_of(key, records.size(), columns)[line] = double(*value);
      }
    });
  return columns;
}
std::vector<SessionRecord> SavedRun::sessions() const {
  return read_sessions(RunDirectory(directory_).sessions(), [](const std::string&) {});
}
std::vector<std::filesystem::path> SavedRun::checkpoints() const {
  return RunDirectory(directory_).steps();
}
std::optional<std::filesystem::path> SavedRun::best() const {
  const std::filesystem::path best = RunDirectory(directory_).best();
  return std::filesystem::exists(best) ? std::optional(best) : std::nullopt;
}

}  // namespace sfnn
