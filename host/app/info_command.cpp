#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "host/app/command_line.hpp"
#include "host/app/commands.hpp"
#include "host/base/duration.hpp"
#include "host/run/records.hpp"
#include "host/run/run_directory.hpp"
#include "host/run/test_figures.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

struct InfoCommand {
  std::string run;
  bool best = false;
};

void print_state(const Checkpoint& checkpoint) {
  const TrainState& state = checkpoint.state;
  const Config& config = checkpoint.config;
  fmt::print("checkpoint   step {}, epoch {} of {}, {} of training\n", state.step, state.epoch,
             config.train.epochs, duration(state.seconds));
  fmt::print("inputs       {}\n", describe(checkpoint.x_bytes));
  fmt::print("seeds        {} for weights and draws, {} for the data\n", config.train.seed,
             config.train.data_seed);
  fmt::print("tiles        {} examples, summed in {} parts\n", checkpoint.tiling.tile,
             checkpoint.tiling.parts);
  if (state.best_valid_nll)
    fmt::print("best         valid NLL {:.4f} in epoch {}\n", *state.best_valid_nll,
               state.best_epoch);
}

struct HistoryColumn {
  std::optional<double> EpochRecord::*figure;
  const char* head;
  int digits;
  double factor = 1;
};
constexpr HistoryColumn kHistory[] = {{&EpochRecord::train_c_hat, "C_hat", 3},
                                      {&EpochRecord::valid_nll, "valid NLL", 3},
                                      {&EpochRecord::valid_error, "error, %", 2, 100},
                                      {&EpochRecord::learning_rate, "rate", 5},
                                      {&EpochRecord::effective_particles, "eff. particles", 2},
                                      {&EpochRecord::seconds, "seconds", 1}};

// One row per epoch; for a long run some of them, evenly spaced, and the last. The file may have
// been edited by anybody: what is not a number is left empty.
void print_epochs(const std::vector<EpochRecord>& epochs) {
  constexpr std::size_t kMostRows = 16;
  const auto cell = [](const EpochRecord& epoch, const HistoryColumn& column) -> std::string {
    const std::optional<double> figure = epoch.*column.figure;
    return figure ? fmt::format("{:.{}f}", column.factor * *figure, column.digits) : "-";
  };
  std::vector<HistoryColumn> columns;
  for (const HistoryColumn& column : kHistory) {
    if (std::ranges::any_of(epochs, [&](const auto& epoch) { return cell(epoch, column) != "-"; }))
      columns.push_back(column);
  }
  fmt::print("history      {:>6}", "epoch");
  for (const HistoryColumn& column : columns) fmt::print("  {:>14}", column.head);
  fmt::print("\n");
  const std::size_t apart = (epochs.size() + kMostRows - 1) / kMostRows;
  for (std::size_t i = 0; i < epochs.size(); ++i) {
    if (i % apart != 0 && i + 1 != epochs.size()) continue;
    fmt::print("             {:>6}", epochs[i].epoch.value_or(0));
    for (const HistoryColumn& column : columns) fmt::print("  {:>14}", cell(epochs[i], column));
    fmt::print("\n");
  }
}

// The run directory itself, or the one that a checkpoint lies in.
std::optional<RunDirectory> run_of(const fs::path& path) {
  RunDirectory run(fs::is_directory(path) ? path : fs::absolute(path).parent_path().parent_path());
  return run.holds_run() ? std::optional(run) : std::nullopt;
}

// Records up to the checkpoint's epoch.
void print_history(const RunDirectory& run, const TrainState& state) {
  std::vector<EpochRecord> epochs = read_epochs(run.metrics(), warn);
  std::erase_if(epochs, [&](const EpochRecord& epoch) {
    return epoch.epoch.value_or(0) > std::uint64_t(state.epoch);
  });
  if (!epochs.empty()) {
    print_epochs(epochs);
    if (const auto test = test_in(epochs.back()))
      fmt::print("test         {}\n", test_figures(*test));
  }
  for (const MetricsLine& session : read_metrics(run.sessions(), warn))
    fmt::print("session      {}\n", session.dump());
}

int run_info(const InfoCommand& command) {
  const Checkpoint checkpoint = open_checkpoint(command.run, command.best, warn);
  print_network(checkpoint.network());
  print_state(checkpoint);
  if (const auto run = run_of(command.run)) print_history(*run, checkpoint.state);
  fmt::print("config\n");
  const Config defaults;
  const auto standard = key_texts(defaults), used = key_texts(checkpoint.config);
  for (std::size_t k = 0; k < used.size(); ++k) {
    fmt::print("  {:<22} {}{}\n", used[k].first, used[k].second,
               used[k] == standard[k] || standard[k].second.empty()
                   ? ""
                   : fmt::format("  (default {})", standard[k].second));
  }
  return kDone;
}

}  // namespace

void add_info_command(CLI::App& app, int& code) {
  CLI::App* sub = app.add_subcommand("info", "Show a run: network, state, history, config");
  const auto command = std::make_shared<InfoCommand>();
  add_run(*sub, command->run, command->best);
  sub->footer(examples("  sfnn info runs/first\n  sfnn info model.safetensors"));
  sub->callback([command, &code] { code = run_info(*command); });
}

}  // namespace sfnn
