#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "host/app/command_line.hpp"
#include "host/app/commands.hpp"
#include "host/app/terminal_progress.hpp"
#include "host/base/duration.hpp"
#include "host/base/error.hpp"
#include "host/devices/registry.hpp"
#include "host/formats/atomic_file.hpp"
#include "host/report/estimator_view.hpp"
#include "host/run/run_directory.hpp"
#include "host/train/estimator_study.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

struct EstimatorsCommand {
  MachineOptions machine;
  std::vector<std::string> path;  // run directories, checkpoints
  std::vector<std::string> settings;
  std::optional<std::int64_t> particles, batch, reference;
  std::int64_t draws = 50;
  std::string sweep_c;  // "0:2:0.1"
  std::string out, plot;
};

// --- the training path -------------------------------------------------------------------------

struct TrainingPath {
  Config config;
  NetworkSpec network;
  Units units;
  std::vector<PathPoint<std::vector<float>>> weights;  // by step

  void add(const fs::path& file) {
    Checkpoint checkpoint = load_checkpoint(file);
    if (weights.empty()) {
      config = checkpoint.config;
      network = checkpoint.network();
      units = checkpoint.units;
    } else if (const auto changed = differences(config, checkpoint.config); !changed.empty()) {
      throw ConfigError(
          fmt::format("{} belongs to another run than the checkpoints before it ({}): "
                      "study them separately",
                      file.string(), fmt::join(changed, "; ")));
    }
    weights.push_back({checkpoint.state.step, checkpoint.state.epoch,
                       std::move(checkpoint.state.P().array("params"))});
  }

  // A run's path begins with its initial weights.
  void add_run(const fs::path& directory) {
    const std::vector<fs::path> files = RunDirectory(directory).steps();
    if (files.empty()) throw DataError(fmt::format("{} has no checkpoints", directory.string()));
    for (const fs::path& file : files) add(file);
    if (config.net.init_from.empty())
      weights.push_back({0, 0, starting_weights(config, network, warn).P});
  }
};

TrainingPath open_path(const std::vector<std::string>& names) {
  TrainingPath path;
  for (const std::string& name : names)
    fs::is_directory(name) ? path.add_run(name) : path.add(name);
  std::ranges::sort(path.weights, {}, [](const auto& point) { return point.step; });
  const auto twice = std::ranges::unique(path.weights, {}, [](const auto& p) { return p.step; });
  path.weights.erase(twice.begin(), twice.end());
  return path;
}

// --- the work ----------------------------------------------------------------------------------

std::vector<double> sweep_values(const std::string& text) {
  double value[3];  // low, high, step
  const char *at = text.data(), *end = at + text.size();
  bool good = true;
  for (int i = 0; i < 3 && good; ++i) {
    const auto [next, error] = std::from_chars(at, end, value[i]);
    good = error == std::errc() && (i == 2 ? next == end : next != end && *next == ':');
    at = next + 1;
  }
  constexpr int kMost = 1000;
  good = good && value[1] >= value[0] && value[2] > 0 && (value[1] - value[0]) / value[2] < kMost;
  if (!good)
    throw ConfigError(fmt::format(
        "--sweep-c '{}': write it as LOW:HIGH:STEP, as in 0:2:0.1, of at most {} values", text,
        kMost));
  std::vector<double> values;
  for (int i = 0; value[0] + i * value[2] <= value[1] * (1 + 1e-12) + 1e-12; ++i)
    values.push_back(value[0] + i * value[2]);
  return values;
}

// Measures every point of the path, shows it and writes the whole file again, so that finished
// points survive. A pipe gets everything at the end.
template <class Measure>
void follow(const EstimatorsCommand& command, const TrainingPath& path, StudyOptions options,
            Measure measure) {
  using Clock = std::chrono::steady_clock;
  TerminalProgress progress(TerminalProgress::suitable_mode(/*quiet=*/false));
  std::vector<PathPoint<decltype(measure(path.weights[0].measured, options))>> done;
  std::vector<MetricsLine> lines;
  std::set<std::string> said;
  const auto start = Clock::now();
  for (const auto& [step, epoch, params] : path.weights) {
    options.progress = [&](double share) {
      if (!progress.due()) return;
      const double all = (double(done.size()) + share) / double(path.weights.size());
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      progress.show(fmt::format("step {}, {} of {}: {:.0f} %, {} left", step, done.size() + 1,
                                path.weights.size(), 100 * share,
                                duration(seconds * (1 - all) / all)));
    };
    done.push_back({step, epoch, measure(params, options)});
    progress.say(to_table(done.back()) + "\n");
    for (const std::string& remark : remarks_on(done.back()))
      if (said.insert(remark).second) progress.say(remark + "\n");
    if (command.out.empty()) continue;
    std::ranges::copy(to_lines(done.back(), options), std::back_inserter(lines));
    if (!is_stream(command.out)) write_output(command.out, to_text(lines));
  }
  if (!command.out.empty() && is_stream(command.out)) write_output(command.out, to_text(lines));
  if (command.plot.empty()) return;
  const Charts charts = charts_of(done);
  write_output(command.plot, to_svg_file(charts.charts, charts.columns));
}

int run_estimators(const EstimatorsCommand& command) {
  if (!command.out.empty()) require_output("--out", command.out, {".jsonl"});
  if (!command.plot.empty()) require_output("--plot", command.plot, {".svg"});
  const std::vector<double> cM =
      command.sweep_c.empty() ? std::vector<double>() : sweep_values(command.sweep_c);
  TrainingPath path = open_path(command.path);
  path.config = changed(path.config, command.settings);
  require_data_inside(path.config, command.machine, command.settings);
  const auto backend = make_backend(command.machine.backend);
  DataSet data = data_of(path.config, command.machine);
  data.units = path.units;
  if (network_of(path.config, data) != path.network) {
    throw ConfigError(
        fmt::format("the checkpoints' network {} does not fit these settings and data",
                    to_string(path.network)));
  }
  const NetworkSpec spec = test_network_of(path.config, path.network);
  StudyOptions options{.train = train_options_of(path.config, command.machine),
                       .draws = command.draws,
                       .reference_particles = command.reference};
  options.train.particles = command.particles.value_or(options.train.particles);
  options.train.batch = command.batch.value_or(std::min(options.train.batch, data.train.count));
  options.train.tiling = {0, 0};  // the run's own was chosen for another batch and M
  fmt::print("{} on {}, {}: M = {}, {} examples, {} draws\n\n", to_string(spec), data.name,
             backend->describe(), options.train.particles, options.train.batch, options.draws);
  std::fflush(stdout);
  if (cM.empty()) {
    follow(command, path, options, [&](const auto& params, const StudyOptions& with) {
      return study_estimators(Model(*backend, spec, params, data.units), data, with);
    });
  } else {
    follow(command, path, options, [&](const auto& params, const StudyOptions& with) {
      return norm_against_c(Model(*backend, spec, params, data.units), data, with, cM);
    });
  }
  return kDone;
}

}  // namespace

void add_estimators_command(CLI::App& app, int& code) {
  const auto command = std::make_shared<EstimatorsCommand>();
  CLI::App* sub = app.add_subcommand(
      "estimators", "Measure bias, variance, direction and cost of every estimator along a run");
  add_machine_options(*sub, command->machine);
  add_settings(*sub, command->settings);
  sub->add_option(
         "path", command->path,
         "Run directory (its initial weights and every checkpoint that train.keep has kept) "
         "or checkpoints")
      ->required()
      ->check(existing_path())
      ->type_name("RUN|CHECKPOINT");
  const CLI::Validator some = from_to(1, std::numeric_limits<std::int32_t>::max());
  sub->add_option("--particles", command->particles, "M (else as in training)")->check(some);
  sub->add_option("--batch", command->batch, "Examples per mini-batch (else as in training)")
      ->check(some);
  sub->add_option("--draws", command->draws, "Gradients drawn per estimator, 10 or more")
      ->check(some)
      ->capture_default_str();
  sub->add_option("--reference", command->reference,
                  "M of the reference, 8 or more (else enumeration of up to 12 units, or 1000)")
      ->check(some);
  sub->add_option("--sweep-c", command->sweep_c,
                  "Instead: the norm of G5's draws for the first layer, for these values of c M")
      ->type_name("LOW:HIGH:STEP")
      ->check(not_empty());
  sub->add_option("--out", command->out, "JSONL file for the figures, one JSON object per line")
      ->check(not_empty());
  sub->add_option("--plot", command->plot, "SVG file for charts")->check(not_empty());
  sub->footer(
      examples("  sfnn estimators runs/first --plot estimators.svg\n"
               "  sfnn estimators runs/first --particles 100 --reference 10000 --out e.jsonl\n"
               "  sfnn estimators runs/first/checkpoints/best.safetensors --draws 200\n"
               "  sfnn estimators runs/classes --sweep-c 0:2:0.1 --plot figure1-left.svg"));
  sub->callback([command, &code] { code = run_estimators(*command); });
}

}  // namespace sfnn
