#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>

#include "host/app/command_line.hpp"
#include "host/app/commands.hpp"
#include "host/app/signals.hpp"
#include "host/app/terminal_progress.hpp"
#include "host/base/duration.hpp"
#include "host/base/error.hpp"
#include "host/devices/registry.hpp"
#include "host/formats/atomic_file.hpp"
#include "host/report/live_page.hpp"
#include "host/report/page_of_runs.hpp"
#include "host/run/data_facts.hpp"
#include "host/run/rate_search.hpp"
#include "host/run/records.hpp"
#include "host/run/test_figures.hpp"
#include "host/run/training_run.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

struct TrainCommand {
  MachineOptions machine;
  std::string config_file;
  std::vector<std::string> settings;  // key=value
  std::string out;                    // empty: a new directory below runs/
  std::string init_from;              // a run or a checkpoint: sets net.init_from
  std::string search_lr;              // "1e-4:1"; empty: the config's rate
  std::int64_t search_epochs = 0;     // per rate; 0: automatic
  std::string on_save_error{to_string(OnSaveError::stop)};
  std::string profile_steps;  // "100:110": steps that a profiler sees; empty: none
  bool resume = false, dry_run = false, quiet = false, verbose = false, report = false,
       tensorboard = false;
};

// --resume reuses the saved config, and a resumed search its saved range; conflicting flags are
// rejected later.
Config config_of(TrainCommand& command, Run& run) {
  Config config;
  const RunDirectory& directory = run.directory();
  if (!command.config_file.empty()) {
    config = load_config(command.config_file);
    look_beside(command.config_file, command.machine, config);
  } else if (command.resume && directory.holds_run()) {
    config = *run.config();
  } else if (const auto search = command.resume ? saved_search(directory) : std::nullopt) {
    config = search->config;
    if (command.search_lr.empty()) {
      command.search_lr = fmt::format("{}:{}", search->range.low, search->range.high);
      command.search_epochs = search->epochs;
    }
  } else if (command.resume && command.settings.empty() && command.init_from.empty()) {
    directory.require_config_of_checkpoints();
    throw ConfigError(fmt::format(
        "{} holds no run to resume: check --out, or say with --config or --set what to train there",
        command.out));
  }
  for (const std::string& setting : command.settings) apply_setting(config, setting);
  if (command.resume && command.config_file.empty())
    require_data_inside(config, command.machine, command.settings);
  if (!command.init_from.empty()) config.net.init_from = command.init_from;
  config.validate();
  return config;
}

StepRange parse_step_range(const std::string& text) {
  StepRange range;
  if (text.empty()) return range;
  const char *begin = text.data(), *end = begin + text.size();
  const auto first = std::from_chars(begin, end, range.first);
  if (first.ec == std::errc() && first.ptr != end && *first.ptr == ':') {
    const auto last = std::from_chars(first.ptr + 1, end, range.last);
    if (last.ec == std::errc() && last.ptr == end && 0 <= range.first && range.first < range.last)
      return range;
  }
  throw ConfigError(fmt::format("--profile-steps '{}': write it as 100:110", text));
}

// Throws ConfigError if the run has no such steps.
StepRange profiled_steps_of(const TrainCommand& command, std::int64_t total_steps) {
  const StepRange range = parse_step_range(command.profile_steps);
  if (range.last > total_steps) {
    throw ConfigError(fmt::format("--profile-steps {}: the run has {} steps", command.profile_steps,
                                  total_steps));
  }
  return range;
}

std::string quoted(const std::string& word) {  // for a shell
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+,:=@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char letter : word)
    text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return text + "'";
}

std::string resume_command(const TrainCommand& command, const RunDirectory& directory) {
  const std::string& data = command.machine.data_root;
  return fmt::format("sfnn train --resume --out {}{}", quoted(directory.path().string()),
                     data.empty() ? "" : " --data " + quoted(data));
}

// With --search-lr, the best rate of the search, or the one that it chose when the directory's run
// began; else the config's. None: stopped.
std::optional<double> rate_of(const TrainCommand& command, const Config& config, Backend& backend,
                              const DataSet& data, Run& run, Progress& progress) {
  if (command.search_lr.empty()) return config.train.learning_rate;
  const RateRange range = parse_rate_range(command.search_lr);
  if (!command.out.empty() && run.config()) return run.config()->train.learning_rate;
  if (command.dry_run) return rate_grid(range).front();
  const auto rate = search_rate(
      backend, command.machine, data,
      {.config = config, .range = range, .epochs = command.search_epochs, .stop = stop_requested},
      run.directory(), progress);
  if (!rate) {
    progress.say(fmt::format("stopped in the search; continue with: {}",
                             resume_command(command, run.directory())));
  }
  return rate;
}

// runs/<name>-1, -2, ...: the first that nobody uses.
RunDirectory new_directory(const TrainCommand& command, const Config& config,
                           const NetworkSpec& spec) {
  // Throws if there are none that fit, before a directory is made.
  if (!config.net.init_from.empty()) starting_weights(config, spec, [](const std::string&) {});
  std::string name =
      command.config_file.empty() ? config.data.set : fs::path(command.config_file).stem().string();
  std::ranges::replace(name, '/', '-');
  return RunDirectory::claim_new("runs", name);
}

std::string megabytes(std::size_t bytes) { return fmt::format("{:.1f} MB", double(bytes) / 1e6); }

std::string tiling_note(const TrainPlan& plan) {
  const std::int64_t tile = plan.tiling.tile, tiles = (plan.batch + tile - 1) / tile;
  return fmt::format(
      "a batch of {} examples x {} particles does not fit into the device's memory: a step takes "
      "it in {} tiles of {} examples; parameters and workspace are {}",
      plan.batch, plan.M, tiles, tile, megabytes(plan.workspace_bytes));
}

// "data 12.0 MB"; of files that are not held, "data 2050.4 MB, in files".
std::string memory_of(const DataSet& data) {
  std::size_t held = 0, in_files = 0;
  for (const Examples* part : {&data.train, &data.valid, &data.test})
    for (const Columns* columns : {&part->x, &part->y})
      (columns->in_file() ? in_files : held) += std::size_t(part->count) * columns->row_bytes();
  const std::string text = in_files ? fmt::format("{} in files", megabytes(in_files)) : "";
  if (held == 0 && in_files > 0) return text;
  return megabytes(held) + (in_files ? ", " + text : "");
}

void print_plan(const Config& config, const DataSet& data, const NetworkSpec& spec,
                const TrainPlan& plan, const Backend& backend) {
  print_network(spec, plan.R ? &*plan.R : nullptr);
  fmt::print("data         {}: {} training, {} validation, {} test examples\n", data.name,
             data.train.count, data.valid.count, data.test.count);
  fmt::print("inputs       {}\n", describe_inputs(data.D_in, data.x_bytes));
  fmt::print("training     {}, M = {}, batch {}, {} epochs of {} steps\n",
             training_name(config.train), plan.M, config.train.batch, config.train.epochs,
             plan.steps_per_epoch);
  fmt::print("optimiser    {}, rate up to {}, schedule {} with {} steps of warm-up\n",
             row_of(config.train.optimizer).name, config.train.learning_rate,
             to_string(plan.schedule.kind), plan.schedule.warmup_steps);
  fmt::print("device       {}\n", backend.describe());
  fmt::print("tiles        {} examples x {} particles, summed in {} of {} parts\n",
             plan.tiling.tile, plan.M, plan.parts_with_tiles(), plan.tiling.parts);
  fmt::print("memory       data {}, parameters and workspace {}\n", memory_of(data),
             megabytes(plan.workspace_bytes));
  auto arrays = state_arrays(spec, plan.pass.estimator, config.train);
  std::vector<std::string> names;
  for (const ArraySpec& array : arrays) names.push_back(array.name);
  if (plan.R)
    for (ArraySpec& array : state_arrays(*plan.R, plan.pass.estimator, config.train))
      names.push_back("R's " + arrays.emplace_back(std::move(array)).name);
  fmt::print("             of it carried from step to step {} ({})\n", megabytes(bytes_of(arrays)),
             fmt::join(names, ", "));
  if (plan.data_bytes > 0) {
    fmt::print("             of the data {} {}\n",
               backend.is_host_memory() ? "in memory at a time" : "on the device",
               megabytes(plan.data_bytes));
  }
  std::fflush(stdout);  // before warnings about it on stderr
}

// One line per product: how it is done on tiles of the run's size. Gradients are real numbers, so
// the products with them are always dense.
std::vector<std::string> product_lines(const Trainer& trainer, const Backend& backend) {
  std::vector<std::string> lines;
  for (const Pass::Product& product : trainer.pass().forward_products()) {
    const std::int64_t rows = trainer.tiling().tile * (product.shared ? 1 : trainer.particles());
    lines.push_back(fmt::format("{}: {} x {} on {} rows, forward by {}, weight gradient by {}",
                                product.what, product.inputs, product.units, rows,
                                backend.product_method(product.bits, rows),
                                backend.product_method(product.bits, product.inputs)));
  }
  return lines;
}

// True if the newest checkpoint is the run's last. Then its figures are shown; nothing is left to
// do, and the data need not be present.
bool show_finished(const Config& config, const Run& run, Progress& progress) {
  if (!run.is_finished(config)) return false;
  const std::optional<Checkpoint>& saved = run.newest();
  progress.say(fmt::format("{} is finished: {} epochs in {}", run.directory().path().string(),
                           saved->state.epoch, duration(saved->state.seconds)));
  const auto epochs = read_epochs(run.directory().metrics(), warn);
  const auto test = epochs.empty() ? std::nullopt : test_in(epochs.back(), config.eval.weights);
  if (test) progress.say("test " + test_figures(*test));
  return true;
}

// Opens the run to continue. A search has left its rate in the run's config.
void open_to_resume(const TrainCommand& command, Config& config, Run& run, const Warn& warn) {
  if (!command.search_lr.empty()) config.train.learning_rate = run.config()->train.learning_rate;
  if (command.dry_run) {
    run.look(warn);
  } else {
    run.require_continues(config);
    run.open(warn);
  }
}

// The page of the finished run: what `sfnn report` makes of it.
void write_report(const TrainCommand& command, const TrainingRun& run, Backend& backend,
                  Progress& progress) {
  const fs::path path = LivePage::path_of(run);
  try {
    write_file_atomically(
        path, page_of_runs(backend, {run.directory().path()},
                           {.data_root = command.machine.data_root,
                            .warning = [&](const std::string& line) { progress.warn(line); }}));
    progress.say(path.string());
  } catch (const Error& error) {  // the run itself is done and saved
    progress.warn(fmt::format("{}: the page is not written", error.what()));
  }
}

// With a page, if there is to be one, that lives as long as the run.
TrainingRun::End train_with_page(const TrainCommand& command, TrainingRun& run, Backend& backend,
                                 LivePage& page, Progress& progress) {
  if (!command.report) return run.train();
  progress.say(fmt::format("{}: rewritten after each epoch, reloads itself while the run trains",
                           LivePage::path_of(run).string()));
  try {
    const TrainingRun::End end = run.train();
    if (end == TrainingRun::End::finished) {
      write_report(command, run, backend, progress);
    } else {
      page.write_last(run);
    }
    return end;
  } catch (...) {
    page.write_last(run);
    throw;
  }
}

int train(const TrainCommand& command, TrainingRun& run, const DataSet& data, Backend& backend,
          LivePage& page, Progress& progress) {
  progress.say(fmt::format("{} on {}, {}: {}", to_string(run.network()), data.name,
                           backend.describe(), run.directory().path().string()));
  progress.say(fmt::format("inputs: {}", describe_inputs(data.D_in, data.x_bytes)));
  if (command.verbose) {
    for (const std::string& line : product_lines(run.trainer(), backend)) progress.say(line);
  }
  if (train_with_page(command, run, backend, page, progress) == TrainingRun::End::stopped) {
    progress.say(fmt::format("stopped at step {}; continue with: {}", run.trainer().step(),
                             resume_command(command, run.directory())));
    return kStopped;
  }
  progress.say("test " + test_figures(*run.test()));
  if (run.best_test()) {
    progress.say(fmt::format("test of the best epoch, {} (--best): {}", run.best_epoch(),
                             test_figures(*run.best_test())));
  }
  return kDone;
}

int run_train(TrainCommand command) {
  if (command.resume && command.out.empty()) {
    throw ConfigError("--resume needs --out: the directory of the run to continue");
  }
  Run run(command.out);
  Config config = config_of(command, run);
  TerminalProgress progress(TerminalProgress::suitable_mode(command.quiet));
  const bool goes_on = command.resume && run.directory().holds_run();
  std::vector<std::string> damaged;  // checkpoints; reported only if the run continues
  if (goes_on) {
    open_to_resume(command, config, run, [&](const std::string& line) { damaged.push_back(line); });
    if (!command.dry_run && show_finished(config, run, progress)) return kDone;
  }
  std::string device_note;
  const auto backend = make_backend(command.machine.backend, &device_note);
  if (command.machine.backend.device == "auto" && !device_note.empty()) progress.say(device_note);
  const DataSet data =
      data_of(config, command.machine,
              goes_on ? read_data_facts(run.directory()) : std::vector<FileFacts>());
  for (const std::string& warning : data.warnings) progress.say("warning: " + warning);
  run.require_lock();
  for (const std::string& line : damaged) progress.warn(line);
  const NetworkSpec spec = network_of(config, data);
  TrainPlan plan = plan_training(
      *backend, spec, train_options_of(config, command.machine, *backend, run.newest()), data);
  const StepRange profiled = profiled_steps_of(command, plan.schedule.total_steps);
  if (plan.tiling.short_of_memory) progress.say(tiling_note(plan));
  if (!command.dry_run) require_memory(plan, *backend);
  if (!command.dry_run && command.out.empty()) run = Run(new_directory(command, config, spec));
  catch_stop_signals();
  const auto rate = rate_of(command, config, *backend, data, run, progress);
  if (!rate) return kStopped;
  config.train.learning_rate = plan.schedule.max_rate = *rate;
  if (command.dry_run) {
    print_plan(config, data, spec, plan, *backend);
    require_memory(plan, *backend);
    return kDone;
  }
  RunOptions options{.machine = command.machine,
                     .on_save_error = *from_string<OnSaveError>(command.on_save_error),
                     .profiled = profiled,
                     .stop = stop_requested,
                     .plan = plan,
                     .tensorboard = command.tensorboard};
  LivePage page([&](const std::string& line) { progress.warn(line); });
  if (command.report)
    options.epoch_ended = [&](const TrainingRun& training) { page.write(training); };
  TrainingRun training(*backend, config, options, data, std::move(run), progress);
  if (goes_on) {
    training.resume();
  } else {
    if (command.resume && command.search_lr.empty())  // with a search, its table came first
      progress.say("there is no run to resume: starting a new one");
    training.start();
  }
  return train(command, training, data, *backend, page, progress);
}

}  // namespace

void add_train_command(CLI::App& app, int& code) {
  const auto command = std::make_shared<TrainCommand>();
  CLI::App* sub = app.add_subcommand("train", "Train a network");
  add_machine_options(*sub, command->machine);
  add_settings(*sub, command->settings);
  sub->add_option("--config", command->config_file, "TOML file; defaults < file < --set")
      ->check(not_empty());
  sub->add_option("--out", command->out, "Run directory (else a new one below runs/)")
      ->check(not_empty());
  sub->add_flag("--resume", command->resume,
                "Continue from the newest checkpoint of --out; with --config or --set, start a new "
                "run if there is none");
  sub->add_option("--init-from", command->init_from,
                  "Run or checkpoint to take initial weights from; a deterministic network may "
                  "start a stochastic one")
      ->check(not_empty());
  sub->add_option("--search-lr", command->search_lr,
                  "Try the rates 1, 3 x 10^k of this range on the validation examples, then train "
                  "with the best")
      ->type_name("LOW:HIGH")
      ->check(not_empty());
  add_search_epochs(*sub, command->search_epochs);
  sub->add_option("--on-save-error", command->on_save_error,
                  "If a checkpoint cannot be written (disk full): stop, or keep training and retry "
                  "at the next one")
      ->check(CLI::IsMember(all_names<OnSaveError>()))
      ->capture_default_str();
  sub->add_option("--profile-steps", command->profile_steps,
                  "Mark steps for a profiler: 100:110, the ten after the first hundred")
      ->check(not_empty());
  sub->add_flag("--tensorboard", command->tensorboard,
                "Event file for TensorBoard in the run directory, one event per epoch; a resumed "
                "run that has one continues it");
  sub->add_flag("--report", command->report,
                "Write report.html into the run directory and rewrite it after each epoch; in a "
                "browser it reloads itself while the run trains");
  sub->add_flag("--dry-run", command->dry_run, "Print the network and the memory plan, and stop");
  sub->add_flag("--verbose", command->verbose,
                "Print for each layer how its products are computed, and with which instructions");
  sub->add_flag("--quiet", command->quiet, "Print nothing but errors");
  sub->footer("");  // without this the inherited footer of the program would follow
  sub->footer([] {
    return examples(
               "  sfnn train --out runs/first\n"
               "  sfnn train --config bench/paper/configs/mnist-halves.toml --set train.epochs=5 "
               "--data ~/data\n"
               "  sfnn train --out runs/first --report\n"
               "  sfnn train --out runs/first --resume\n"
               "  sfnn train --init-from runs/first --set train.learning_rate=0.001 --out "
               "runs/tuned\n"
               "  sfnn train --set data.valid=1000 --search-lr 1e-4:1") +
           "\n\nConfig keys, with their defaults:\n" + config_help();
  });
  sub->callback([command, &code] { code = run_train(*command); });
}

}  // namespace sfnn
