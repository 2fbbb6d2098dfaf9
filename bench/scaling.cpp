// How the time and the memory of a step grow with particles, width, depth and threads, from one
// network, 392-200s-200s-392 with 20 particles and batches of 100, changed in one respect at a
// time. All particles are kept in the backward products, so that the figures do not depend on
// training.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/lib/clock.hpp"
#include "bench/lib/program.hpp"
#include "host/data/dataset.hpp"
#include "host/devices/registry.hpp"
#include "host/train/trainer.hpp"

namespace sfnn::bench {
namespace {

struct Setting {
  std::int64_t particles = 20, width = 200, depth = 2;
  int threads = 1;
};

struct Options {
  std::string json;
  std::vector<std::string> series{"particles", "width", "depth", "threads"};
  double seconds = 1;  // for each point
  bool cpu_time = false;
};

struct Cost {
  double ms;
  double megabytes;  // workspace, without parameters and arrays of their size
};

// The fastest of the steps that fit into the budget; at least three.
Cost measure(const Setting& setting, const DataSet& data, const Options& options) {
  const NetworkSpec spec{
      .D_in = data.D_in,
      .hidden = std::vector<LayerSpec>(setting.depth, LayerSpec{.n_s = setting.width}),
      .D_out = data.D_out,
      .output = data.output};
  const auto backend = make_backend({.device = "cpu", .threads = setting.threads});
  Trainer trainer(
      *backend, spec,
      {.particles = setting.particles, .epochs = 1000000, .learning_rate = 0, .drop_below = 0},
      data);
  trainer.train_step();
  const auto clock = options.cpu_time ? cpu_ms : wall_ms;
  double best = std::numeric_limits<double>::infinity();
  const double begin = clock();
  for (int i = 0; i < 3 || clock() - begin < 1e3 * options.seconds; ++i) {
    const double start = clock();
    trainer.train_step();
    best = std::min(best, clock() - start);
  }
  const double parameter_bytes =
      double(ParamLayout(spec).size) * sizeof(float) * double(2 + trainer.tiling().parts);
  return {best, 1e-6 * (double(trainer.workspace_bytes()) - parameter_bytes)};
}

void run(const Options& options) {
  const JsonFile json(options.json);
  const int cores = std::max(1u, std::thread::hardware_concurrency());
  const DataSet data = load_data({.set = "glyphs", .task = Task::halves, .limit = 1000});
  nlohmann::ordered_json series;
  const auto add = [&](const std::string& what, std::int64_t value, const Setting& setting) {
    const Cost cost = measure(setting, data, options);
    fmt::print("{:<10} {:>5}: {:>10.3f} ms {:>8.1f} MB\n", what, value, cost.ms, cost.megabytes);
    std::fflush(stdout);
    series[what].push_back({{"value", value}, {"ms", cost.ms}, {"megabytes", cost.megabytes}});
  };
  for (const std::string& what : options.series) {
    if (what == "particles")
      for (std::int64_t M : {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000})
        add(what, M, {.particles = M});
    if (what == "width")
      for (std::int64_t width : {100, 200, 400, 1000, 2000, 4000})
        add(what, width, {.width = width});
    if (what == "depth")
      for (std::int64_t depth = 1; depth <= 8; ++depth) add(what, depth, {.depth = depth});
    if (what == "threads")
      for (int threads = 1; threads <= cores; ++threads) add(what, threads, {.threads = threads});
  }
  json.write(series);
}

}  // namespace
}  // namespace sfnn::bench

int main(int argc, char** argv) {
  sfnn::bench::Options options;
  CLI::App app("Time and memory of a step against particles, width, depth and threads.");
  app.add_option("--json", options.json, "Write the figures to this file as well");
  app.add_option("--series", options.series, "Series to run")
      ->check(CLI::IsMember({"particles", "width", "depth", "threads"}))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "Seconds per point")->capture_default_str();
  app.add_flag("--cpu-time", options.cpu_time,
               "Processor time, for a machine that is busy otherwise; shows no gain by threads");
  return sfnn::bench::run_program("scaling", app, argc, argv, [&] { sfnn::bench::run(options); });
}
