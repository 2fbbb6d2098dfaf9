#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "host/app/command_line.hpp"
#include "host/app/commands.hpp"
#include "host/base/error.hpp"
#include "host/devices/registry.hpp"
#include "host/formats/atomic_file.hpp"
#include "host/formats/png.hpp"
#include "host/report/page.hpp"
#include "host/run/loaded_network.hpp"
#include "host/run/pictures.hpp"
#include "host/run/run_directory.hpp"
#include "host/run/session.hpp"
#include "host/run/test_figures.hpp"
#include "host/sfnn.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

struct ReportCommand {
  MachineOptions machine;
  std::vector<std::string> runs, settings;
  std::string out;  // empty: report.html in the first run's directory
  bool best = false;
};

constexpr std::size_t kMaxPictureBytes = std::size_t(16) << 20;

// The directory's own name; the whole path if two runs have the same name.
std::vector<std::string> names_of(const std::vector<std::string>& runs) {
  std::vector<std::string> names;
  for (const std::string& run : runs) {
    const fs::path path = fs::path(run).lexically_normal();
    names.push_back((path.has_filename() ? path : path.parent_path()).filename().string());
  }
  std::vector<std::string> unique = names;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    if (std::count(names.begin(), names.end(), names[r]) > 1 || names[r].empty())
      unique[r] = runs[r];
  }
  return unique;
}

// A run with the checkpoint that its whole page is made from: a run in progress may save a newer
// one.
struct OpenedRun {
  ReportRun run;
  Checkpoint checkpoint;
};

OpenedRun open_run(const std::string& path, std::string name, bool best) {
  const RunDirectory directory(path);
  if (!directory.holds_run()) {
    throw ConfigError(fmt::format("{} is not a run directory: it has no config.toml", path));
  }
  Checkpoint checkpoint = open_checkpoint(path, best, warn);
  ReportRun run{.name = std::move(name),
                .path = path,
                .network = checkpoint.network(),
                .config = checkpoint.config,
                .state = checkpoint.state,
                .metrics = read_epochs(directory.metrics(), warn),
                .sessions = read_sessions(directory.sessions(), warn)};
  return {std::move(run), std::move(checkpoint)};
}

// The picture that the run left; anything else with its name is left out of the page.
std::string picture_of(const RunDirectory& directory) {
  const fs::path path = directory.samples();
  try {
    require_no_link(path);
    if (!fs::exists(path)) return "";
    std::string bytes = read_file(path, kMaxPictureBytes);
    if (is_png(bytes)) return bytes;
    warn(fmt::format("{}: not a PNG picture: left out", path.string()));
  } catch (const DataError& error) {
    warn(fmt::format("{}: left out", error.what()));
  }
  return "";
}

Measured measure(Backend& backend, const LoadedNetwork& loaded) {
  const Config& config = loaded.config();
  const DataSet& data = loaded.data();
  const auto activity = [&](const Model& model) {
    return hidden_activity(model, data.test, {.seed = config.train.seed});
  };
  std::vector<LayerActivity> start;
  try {
    const auto weights = starting_weights(config, network_of(config, data), warn);
    start = activity({backend, loaded.model().spec(), weights, data.x_mean});
  } catch (const Error& error) {
    warn(fmt::format("its initial weights are not shown: {}", error.what()));
  }
  return {.data_name = data.name,
          .test = evaluate(loaded.model(), data.test,
                           {.particles = config.eval.particles, .seed = config.train.seed}),
          .start = std::move(start),
          .trained = activity(loaded.model())};
}

// The part that needs the data set. A report without it still shows what is in the run's files.
void add_measurements(Backend& backend, const ReportCommand& command, OpenedRun& opened) {
  ReportRun& run = opened.run;
  try {
    const LoadedNetwork loaded(backend, command.machine, opened.checkpoint, command.settings);
    run.measured = measure(backend, loaded);
    if (can_show(loaded.data())) {
      run.png = encode_png(
          sample_picture(loaded.model(), loaded.data(), loaded.config().train.seed, {.rows = 8}));
    }
  } catch (const DataError& error) {
    run.note = fmt::format("not measured on its test examples: {}", error.what());
    warn(fmt::format("{}: {}", run.name, run.note));
    // The run's own test is of its last weights: the best ones were not tested.
    if (!command.best && !run.metrics.empty()) run.own_test = test_in(run.metrics.back());
    if (run.own_test) run.note += "; its test figures are from its own record";
    run.png = picture_of(RunDirectory(run.path));
  }
}

int run_report(const ReportCommand& command) {
  if (!command.out.empty()) require_output("--out", command.out, {".html"});
  const auto backend = make_backend(command.machine.backend);
  const std::vector<std::string> names = names_of(command.runs);
  std::vector<OpenedRun> opened;
  for (std::size_t r = 0; r < names.size(); ++r)
    opened.push_back(open_run(command.runs[r], names[r], command.best));
  std::vector<ReportRun> runs;
  for (OpenedRun& run : opened) {
    add_measurements(*backend, command, run);
    runs.push_back(std::move(run.run));
  }
  const std::string page =
      report_page(runs, {.version = program_version(),
                         .date = utc_now(),
                         .device = fmt::format("{}, {}", backend->describe(), cpu_model())});
  const fs::path out =
      command.out.empty() ? RunDirectory(command.runs[0]).report() : fs::path(command.out);
  if (command.out.empty()) {
    write_file_atomically(out, page);
  } else {
    write_output(out, page);
    if (is_stream(out)) return kDone;  // it may be stdout
  }
  fmt::print("{} ({} kB)\n", out.string(), page.size() / 1000);
  return kDone;
}

}  // namespace

void add_report_command(CLI::App& app, int& code) {
  CLI::App* sub =
      app.add_subcommand("report", "Write one HTML page that shows a run, or compares several");
  const auto command = std::make_shared<ReportCommand>();
  add_machine_options(*sub, command->machine);
  add_settings(*sub, command->settings);
  sub->add_option("runs", command->runs, "Run directories")->required()->type_name("RUN");
  sub->add_flag("--best", command->best,
                "Measure the checkpoints with the lowest validation NLL, not the newest; needs "
                "data.valid");
  sub->add_option("--out", command->out, "HTML file (else report.html in the first directory)")
      ->check(not_empty());
  sub->footer(
      examples("  sfnn report runs/first\n"
               "  sfnn report runs/g1 runs/g3 runs/g5 --out estimators.html\n"
               "  sfnn report runs/first --set eval.particles=1000 --set data.test_limit=500"));
  sub->callback([command, &code] { code = run_report(*command); });
}

}  // namespace sfnn
