#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "host/app/command_line.hpp"
#include "host/app/commands.hpp"
#include "host/app/machine.hpp"
#include "host/base/duration.hpp"
#include "host/base/error.hpp"
#include "host/run/json.hpp"
#include "host/run/rate_search.hpp"
#include "host/run/records.hpp"
#include "host/run/run_directory.hpp"
#include "host/run/test_figures.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

struct InfoCommand {
  std::string run;
  bool best = false, json = false, machine = false;
};

void print_state(const Checkpoint& checkpoint) {
  const TrainState& state = checkpoint.state;
  const Config& config = checkpoint.config;
  fmt::print("checkpoint   step {}, epoch {} of {}, {} of training\n", state.step, state.epoch,
             config.train.epochs, duration(state.seconds));
  fmt::print("inputs       {}\n", describe_inputs(checkpoint.network().D_in, checkpoint.x_bytes));
  fmt::print("seeds        {} for weights and draws, {} for the data\n", config.train.seed,
             config.train.data_seed);
  fmt::print("tiles        {} examples, summed in {} parts\n", checkpoint.tiling.tile,
             checkpoint.tiling.parts);
  if (state.best_valid_nll)
    fmt::print("best         valid NLL{} {:.4f} in epoch {}\n",
               config.selects_by_proposal() ? " by R" : "", *state.best_valid_nll,
               state.best_epoch);
}

struct HistoryColumn {
  std::optional<double> EpochRecord::*figure;
  const char* head;
  int digits;
  double factor = 1;
};
constexpr HistoryColumn kHistory[] = {{&EpochRecord::train_c_hat, "C_hat", 3},
                                      {&EpochRecord::train_c_hat_proposal, "C_hat by R", 3},
                                      {&EpochRecord::valid_nll, "valid NLL", 3},
                                      {&EpochRecord::valid_nll_proposal, "valid by R", 3},
                                      {&EpochRecord::valid_error, "error, %", 2, 100},
                                      {&EpochRecord::average_valid_nll, "average NLL", 3},
                                      {&EpochRecord::learning_rate, "rate", 5},
                                      {&EpochRecord::gradient_norm, "gradient norm", 4},
                                      {&EpochRecord::effective_particles, "eff. particles", 2},
                                      {&EpochRecord::effective_particles_proposal, "eff. by R", 2},
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
std::vector<EpochRecord> epochs_until(const RunDirectory& run, const TrainState& state) {
  std::vector<EpochRecord> epochs = read_epochs(run.metrics(), warn);
  std::erase_if(epochs, [&](const EpochRecord& epoch) {
    return epoch.epoch.value_or(0) > std::uint64_t(state.epoch);
  });
  return epochs;
}

// "2026-01-31 12:30 UTC, from step 600, on cpu (AVX2, 2 threads), sfnn 0.1.0"
std::string text_of(const SessionRecord& session) {
  std::string text = session.started.value_or("at an unknown time");
  if (session.step) text += fmt::format(", from step {}", *session.step);
  if (session.device) text += fmt::format(", on {}", *session.device);
  if (session.cpu) text += fmt::format(", {}", *session.cpu);
  if (session.version) text += fmt::format(", sfnn {}", *session.version);
  return Error::without_controls(text);
}

void print_history(const RunDirectory& run, const TrainState& state, EvalWeights weights) {
  const std::vector<EpochRecord> epochs = epochs_until(run, state);
  if (!epochs.empty()) {
    print_epochs(epochs);
    if (const auto test = test_in(epochs.back(), weights))
      fmt::print("test         {}\n", test_figures(*test));
  }
  for (const SessionRecord& session : read_sessions(run.sessions(), warn))
    fmt::print("session      {}\n", text_of(session));
}

// The rates that --search-lr has tried.
void print_search(const RunDirectory& run) {
  const auto search = saved_search(run);
  if (!search) return;
  fmt::print("search       learning rates from {} to {}\n", search->range.low, search->range.high);
  fmt::print("  {}\n", kTrialHead);
  for (const RateTrial& trial : saved_trials(run)) fmt::print("  {}\n", to_row(trial));
}

void print_config(const Config& config) {
  fmt::print("config\n");
  const auto standard = key_texts(Config()), used = key_texts(config);
  for (std::size_t k = 0; k < used.size(); ++k) {
    fmt::print("  {:<22} {}{}\n", used[k].first, used[k].second,
               used[k] == standard[k] || standard[k].second.empty()
                   ? ""
                   : fmt::format("  (default {})", standard[k].second));
  }
}

Json json_of_search(const RunDirectory& run) {
  const auto search = saved_search(run);
  if (!search) return nullptr;
  Json trials = Json::array();
  for (const RateTrial& trial : saved_trials(run)) {
    trials.push_back({{"learning_rate", trial.rate},
                      {"end", to_string(trial.end)},
                      {trial.key(), trial.valid_nll}});
  }
  return {{"low", search->range.low}, {"high", search->range.high}, {"trials", std::move(trials)}};
}

void print_json(const Checkpoint& checkpoint, const std::optional<RunDirectory>& run) {
  Json json = {{"network", json_of(checkpoint.network())},
               {"checkpoint", json_of_state(checkpoint)}};
  if (run) {
    json["epochs"] = json_of(epochs_until(*run, checkpoint.state));
    json["sessions"] = json_of(read_sessions(run->sessions(), warn));
    if (const Json search = json_of_search(*run); !search.is_null()) json["search"] = search;
  }
  json["config"] = json_of(checkpoint.config);
  fmt::print("{}", to_text(json));
}

// A run that is still looking for its rate has no checkpoint to show.
bool only_searches(const fs::path& path) {
  const RunDirectory run(path);
  return fs::is_directory(path) && !run.holds_run() && saved_search(run);
}

int show_search(const RunDirectory& run, bool json) {
  const Config config = saved_search(run)->config;
  if (json) {
    fmt::print("{}", to_text(Json{{"search", json_of_search(run)}, {"config", json_of(config)}}));
    return kDone;
  }
  fmt::print("state        the search for the learning rate has not ended\n");
  print_search(run);
  print_config(config);
  return kDone;
}

int run_info(const InfoCommand& command) {
  if (command.machine) {
    fmt::print("{}", machine_text());
    return kDone;
  }
  if (command.run.empty()) throw CLI::RequiredError("run");
  if (only_searches(command.run)) return show_search(RunDirectory(command.run), command.json);
  const Checkpoint checkpoint = open_checkpoint(command.run, command.best, warn);
  const auto run = run_of(command.run);
  if (command.json) {
    print_json(checkpoint, run);
    return kDone;
  }
  const NetworkState* R = checkpoint.state.R();
  print_network(checkpoint.network(), R ? &R->spec : nullptr);
  print_state(checkpoint);
  if (run) {
    print_search(*run);
    print_history(*run, checkpoint.state, checkpoint.config.eval.weights);
  }
  print_config(checkpoint.config);
  return kDone;
}

}  // namespace

void add_info_command(CLI::App& app, int& code) {
  CLI::App* sub =
      app.add_subcommand("info", "Show a run: network, state, history, config; or the machine");
  const auto command = std::make_shared<InfoCommand>();
  add_run(*sub, command->run, command->best);
  add_json(*sub, command->json);
  CLI::Option* run = sub->get_option("run")->required(false);
  sub->add_flag("--machine", command->machine,
                "Show the program and the machine instead: a block to paste into a bug report")
      ->excludes(run)
      ->excludes("--best")
      ->excludes("--json");
  sub->footer(
      examples("  sfnn info runs/first\n  sfnn info runs/first --json\n"
               "  sfnn info model.safetensors\n  sfnn info --machine"));
  sub->callback([command, &code] { code = run_info(*command); });
}

}  // namespace sfnn
