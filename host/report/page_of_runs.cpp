#include "host/report/page_of_runs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "host/base/error.hpp"
#include "host/formats/atomic_file.hpp"
#include "host/formats/png.hpp"
#include "host/report/page.hpp"
#include "host/report/sections.hpp"
#include "host/run/loaded_network.hpp"
#include "host/run/pictures.hpp"
#include "host/run/run_directory.hpp"
#include "host/run/session.hpp"
#include "host/run/sweep.hpp"
#include "host/run/test_figures.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxPictureBytes = std::size_t(16) << 20;

// The directory's own name; the whole path if two runs have the same.
std::vector<std::string> names_of(const std::vector<fs::path>& runs) {
  std::vector<std::string> names;
  for (const fs::path& run : runs) names.push_back(name_of_run(run));
  std::vector<std::string> unique = names;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    if (std::count(names.begin(), names.end(), names[r]) > 1 || names[r].empty())
      unique[r] = runs[r].string();
  }
  return unique;
}

// A run with the checkpoint that all of its page comes from: a run under way may save a newer one.
struct OpenedRun {
  ReportRun run;
  Checkpoint checkpoint;
};

OpenedRun open_run(const fs::path& path, std::string name, const ReportOptions& options) {
  const RunDirectory directory(path);
  if (!directory.holds_run()) {
    throw ConfigError(
        fmt::format("{} is not a run directory: it has no config.toml", path.string()));
  }
  Checkpoint checkpoint = open_checkpoint(path, options.best, options.warning);
  ReportRun run{.name = std::move(name),
                .path = path.string(),
                .network = checkpoint.network(),
                .config = checkpoint.config,
                .x_bytes = checkpoint.x_bytes,
                .state = checkpoint.state,
                .metrics = read_epochs(directory.metrics(), options.warning),
                .sessions = read_sessions(directory.sessions(), options.warning),
                .trials = saved_trials(directory)};
  return {std::move(run), std::move(checkpoint)};
}

// The picture that the run left; whatever else has its name stays out of the page.
std::string picture_of(const RunDirectory& directory, const Warn& warn) {
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

Measured measure(Backend& backend, const LoadedNetwork& loaded, const ReportOptions& options) {
  const Warn& warn = options.warning;
  const Config& config = loaded.config();
  const DataSet& data = loaded.data();
  const auto activity = [&](const Model& model) {
    return hidden_activity(model, data.test, {.seed = config.train.seed});
  };
  std::vector<LayerActivity> start;
  try {
    const auto weights = starting_weights(config, network_of(config, data), warn).P;
    start = activity({backend, loaded.model().spec(), weights, data.units});
  } catch (const Error& error) {
    warn(fmt::format("the weights that it started from are not shown: {}", error.what()));
  }
  return {
      .data_name = data.name,
      .test = evaluate(
          loaded.model(), data.test,
          {.particles = config.eval.particles, .seed = config.train.seed, .draws = options.draws},
          loaded.proposal()),
      .start = std::move(start),
      .trained = activity(loaded.model())};
}

// What takes the data set. A report without it still shows what the run's files tell.
void add_measurements(Backend& backend, const ReportOptions& options, OpenedRun& opened) {
  ReportRun& run = opened.run;
  try {
    const LoadedNetwork loaded(backend, {.data_root = options.data_root.string()},
                               opened.checkpoint, options.settings);
    run.measured = measure(backend, loaded, options);
    if (can_show(loaded.data())) {
      const auto picture = [&](const Model* R) {
        return encode_png(sample_picture(loaded.model(), loaded.data(), loaded.config().train.seed,
                                         {.rows = 8}, R));
      };
      run.png = picture(nullptr);
      if (loaded.proposal()) run.posterior_png = picture(loaded.proposal());
    }
  } catch (const DataError& error) {
    run.note = fmt::format("not measured on its test examples: {}", error.what());
    options.warning(fmt::format("{}: {}", run.name, run.note));
    // Of the last weights: the best ones were not tested.
    if (!options.best && !run.metrics.empty())
      run.own_test = test_in(run.metrics.back(), run.config.eval.weights);
    if (run.own_test) run.note += "; its test figures are from its own record";
    run.png = picture_of(RunDirectory(run.path), options.warning);
  }
}

// A sweep stands for its runs.
std::vector<fs::path> expanded(const std::vector<fs::path>& paths) {
  std::vector<fs::path> runs;
  for (const fs::path& path : paths) {
    if (!holds_sweep(path)) {
      runs.push_back(path);
      continue;
    }
    const std::vector<fs::path> started = started_runs(path);
    if (started.empty())
      throw ConfigError(
          fmt::format("{}: no run of this sweep has a checkpoint yet", path.string()));
    runs.insert(runs.end(), started.begin(), started.end());
  }
  return runs;
}

Runs read_runs(Backend& backend, const std::vector<fs::path>& given, const ReportOptions& options) {
  const std::vector<fs::path> paths = expanded(given);
  const std::vector<std::string> names = names_of(paths);
  std::vector<OpenedRun> opened;
  for (std::size_t r = 0; r < names.size(); ++r)
    opened.push_back(open_run(paths[r], names[r], options));
  Runs runs;
  for (OpenedRun& run : opened) {
    add_measurements(backend, options, run);
    runs.push_back(std::move(run.run));
  }
  return runs;
}

ReportOrigin origin_of(const Backend& backend, const ReportOptions& options) {
  return {.version = program_version(),
          .date = utc_now(),
          .device = fmt::format("{}, {}", backend.describe(), cpu_model()),
          .settings = options.settings};
}

}  // namespace

std::string page_of_runs(Backend& backend, const std::vector<fs::path>& paths,
                         const ReportOptions& options) {
  return report_page(read_runs(backend, paths, options), origin_of(backend, options));
}

PageWithFiles page_with_files(Backend& backend, const std::vector<fs::path>& paths,
                              const ReportOptions& options) {
  const Runs runs = read_runs(backend, paths, options);
  return {report_page(runs, origin_of(backend, options)), report_files(runs)};
}

std::string json_of_runs(Backend& backend, const std::vector<fs::path>& paths,
                         const ReportOptions& options) {
  return report_json(read_runs(backend, paths, options), origin_of(backend, options));
}

}  // namespace sfnn
