#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "host/app/command_line.hpp"
#include "host/app/commands.hpp"
#include "host/app/signals.hpp"
#include "host/app/terminal_progress.hpp"
#include "host/base/error.hpp"
#include "host/run/sweep.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

struct SweepCommand {
  MachineOptions machine;
  std::string config_file, out, seeds, search_lr;
  std::vector<std::string> settings;  // key=value or key=a,b
  std::vector<std::string> points;    // "key=value key=value"
  std::int64_t search_epochs = 0, jobs = 0;
  bool resume = false, dry_run = false, quiet = false;

  bool asks() const {  // for anything of its own
    return !config_file.empty() || !seeds.empty() || !search_lr.empty() || !settings.empty() ||
           !points.empty();
  }
};

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (end > begin) words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// The grid of --set, for each point of --each.
std::vector<std::vector<std::string>> points_of(const SweepCommand& command,
                                                const std::vector<std::string>& axes) {
  const auto grid = grid_of(axes);
  if (command.points.empty()) return grid;
  std::vector<std::vector<std::string>> points;
  for (const std::string& point : command.points) {
    for (const auto& settings : grid) {
      points.push_back(words_of(point));
      points.back().insert(points.back().end(), settings.begin(), settings.end());
    }
  }
  return points;
}

SweepPlan plan_of(const SweepCommand& command) {
  if (command.resume && !command.asks()) {
    if (!holds_sweep(command.out))
      throw ConfigError(fmt::format("{} holds no sweep to resume", command.out));
    SweepPlan plan = saved_sweep(command.out);
    for (const SweepRun& run : runs_of(plan)) require_data_inside(run.config, command.machine, {});
    return plan;
  }
  SweepPlan plan;
  if (!command.config_file.empty()) plan.config = load_config(command.config_file);
  std::vector<std::string> axes;
  for (const std::string& setting : command.settings) {
    const auto values = grid_of({setting});
    if (values.size() == 1) {
      apply_setting(plan.config, values[0][0]);  // the same in all runs
    } else {
      axes.push_back(setting);
    }
  }
  plan.points = points_of(command, axes);
  if (!command.seeds.empty()) plan.seeds = parse_seeds(command.seeds);
  if (!command.search_lr.empty()) plan.search = parse_rate_range(command.search_lr);
  plan.search_epochs = command.search_epochs;
  return plan;
}

int conclude(const SweepCommand& command, const SweepPlan& plan,
             const std::vector<SweepOutcome>& outcomes, Progress& progress) {
  const auto count = [&](SweepOutcome::End end) {
    return std::ranges::count(outcomes, end, &SweepOutcome::end);
  };
  if (const auto left = count(SweepOutcome::End::stopped); left > 0) {
    progress.say(
        fmt::format("stopped with {} of {} runs to go; continue with: sfnn sweep --resume "
                    "--out {}",
                    left, outcomes.size(), command.out));
    return kStopped;
  }
  std::string table = summary_table(plan, outcomes);
  table.pop_back();  // say() ends the line
  progress.say("\n" + table);
  if (const auto failed = count(SweepOutcome::End::failed); failed > 0)
    throw Error(
        fmt::format("{} of {} runs failed; --resume tries them again", failed, outcomes.size()));
  return kDone;
}

int run_sweep_command(const SweepCommand& command) {
  const SweepPlan plan = plan_of(command);
  TerminalProgress progress(TerminalProgress::suitable_mode(command.quiet));
  const std::vector<SweepRun> runs = runs_of(plan);
  if (command.dry_run) {
    for (const SweepRun& run : runs)
      fmt::print("{}\n", (fs::path(command.out) / run.name).string());
    return kDone;
  }
  catch_stop_signals();
  progress.say(fmt::format("{} runs: {}", runs.size(), command.out));
  const auto outcomes = run_sweep(command.out, plan,
                                  {.machine = command.machine,
                                   .jobs = command.jobs,
                                   .resume = command.resume,
                                   .stop = stop_requested},
                                  progress);
  return conclude(command, plan, outcomes, progress);
}

}  // namespace

void add_sweep_command(CLI::App& app, int& code) {
  const auto command = std::make_shared<SweepCommand>();
  CLI::App* sub = app.add_subcommand("sweep", "Train a grid of settings, each with several seeds");
  add_machine_options(*sub, command->machine);
  sub->add_option("--config", command->config_file, "TOML file that the runs have in common")
      ->check(not_empty());
  sub->add_option("--set", command->settings,
                  "Config value, or several to vary, as in --set train.estimator=G3,G5; lists "
                  "take brackets: net.hidden=[200s],[200s,200s]; may be repeated: a grid")
      ->type_name("KEY=A,B")
      ->take_all();
  sub->add_option("--each", command->points,
                  "Settings that belong together, as in --each 'train.estimator=G1 "
                  "train.hidden_rate=0.05'; may be repeated: a list")
      ->type_name("'KEY=A KEY=B'")
      ->take_all()
      ->check(not_empty());
  sub->add_option("--seeds", command->seeds, "Seeds for each setting: 1..5 or 1,2,7")
      ->check(not_empty());
  sub->add_option("--search-lr", command->search_lr,
                  "Range in which each run first searches its learning rate, as in sfnn train")
      ->type_name("LOW:HIGH")
      ->check(not_empty());
  add_search_epochs(*sub, command->search_epochs);
  sub->add_option("--jobs", command->jobs, "Runs at once; 0: one per GPU, or one per core")
      ->check(from_to(0, 1024))
      ->capture_default_str();
  sub->add_option("--out", command->out, "Directory of the sweep, with one directory per run")
      ->required()
      ->check(not_empty());
  sub->add_flag(
      "--resume", command->resume,
      "Continue the sweep of --out; with --config, --set or --seeds, begin it if there is "
      "none");
  sub->add_flag("--dry-run", command->dry_run, "Print the directories of the runs, and stop");
  sub->add_flag("--quiet", command->quiet, "Print nothing but errors");
  sub->footer(
      examples("  sfnn sweep --set train.estimator=G1,G3,G5 --seeds 1..5 --out sweeps/estimators\n"
               "  sfnn sweep --config own.toml --set train.learning_rate=0.01:1 --jobs 4 --out "
               "sweeps/rates\n"
               "  sfnn sweep --resume --out sweeps/estimators\n"
               "  sfnn report sweeps/estimators"));
  sub->callback([command, &code] { code = run_sweep_command(*command); });
}

}  // namespace sfnn
