#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "host/app/command_line.hpp"
#include "host/app/commands.hpp"
#include "host/base/error.hpp"
#include "host/run/dashboard.hpp"
#include "host/run/sweep.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

// A sweep stands for its runs.
std::vector<fs::path> runs_in(const std::vector<std::string>& directories) {
  std::vector<fs::path> runs;
  for (const fs::path directory : directories) {
    if (!holds_sweep(directory)) {
      runs.push_back(directory);
      continue;
    }
    const std::vector<fs::path> started = started_runs(directory);
    require(!started.empty(),
            fmt::format("{}: no run of this sweep has begun yet", directory.string()));
    runs.insert(runs.end(), started.begin(), started.end());
  }
  return runs;
}

int run_tensorboard(const std::vector<std::string>& directories) {
  for (const fs::path& run : runs_in(directories)) {
    const std::int64_t events = write_dashboard(run, warn);
    fmt::print("{}: {} epochs\n", RunDirectory(run).events().string(), events);
  }
  return kDone;
}

}  // namespace

void add_tensorboard_command(CLI::App& app, int& code) {
  CLI::App* sub =
      app.add_subcommand("tensorboard", "Write the event files of runs that were trained without");
  const auto runs = std::make_shared<std::vector<std::string>>();
  sub->add_option("runs", *runs, "Run directories, or directories of sweeps")
      ->required()
      ->type_name("RUN");
  sub->footer(
      examples("  sfnn tensorboard runs/first runs/second\n"
               "  tensorboard --logdir runs"));
  sub->callback([runs, &code] { code = run_tensorboard(*runs); });
}

}  // namespace sfnn
