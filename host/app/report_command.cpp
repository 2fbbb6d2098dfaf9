#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "host/app/command_line.hpp"
#include "host/app/commands.hpp"
#include "host/base/error.hpp"
#include "host/devices/registry.hpp"
#include "host/formats/atomic_file.hpp"
#include "host/report/page_of_runs.hpp"
#include "host/run/run_directory.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

struct ReportCommand {
  MachineOptions machine;
  std::vector<std::string> runs, settings;
  std::string out;  // empty: report.html in the first run's directory
  std::int64_t seeds = 1;
  bool best = false, json = false, files = false;
};

// report.html -> report-files
fs::path folder_beside(const fs::path& page) {
  return page.parent_path() / (page.stem().string() + "-files");
}

void write_files(const fs::path& folder, const std::vector<ReportFile>& files) {
  make_directories(folder);
  for (const ReportFile& file : files) write_file_atomically(folder / file.name, file.content);
}

int run_report(const ReportCommand& command) {
  if (command.json && !command.out.empty())
    throw ConfigError("--json prints the figures, --out writes the page: choose one of them");
  if (command.json && command.files)
    throw ConfigError("--json prints the figures, --files writes them beside the page: choose one");
  if (command.files && !command.out.empty() && is_stream(command.out))
    throw ConfigError("--files writes a folder beside the page: give --out a file");
  if (!command.out.empty()) require_output("--out", command.out, {".html"});
  const auto backend = make_backend(command.machine.backend);
  const std::vector<fs::path> runs(command.runs.begin(), command.runs.end());
  const ReportOptions options{.best = command.best,
                              .settings = command.settings,
                              .data_root = command.machine.data_root,
                              .draws = command.seeds,
                              .warning = warn};
  if (command.json) {
    fmt::print("{}", json_of_runs(*backend, runs, options));
    return kDone;
  }
  const auto [page, files] = page_with_files(*backend, runs, options);
  const fs::path out =
      command.out.empty() ? RunDirectory(command.runs[0]).report() : fs::path(command.out);
  if (command.out.empty()) {
    write_file_atomically(out, page);
  } else {
    write_output(out, page);
    if (is_stream(out)) return kDone;  // it may be stdout
  }
  fmt::print("{} ({} kB)\n", out.string(), page.size() / 1000);
  if (command.files) {
    write_files(folder_beside(out), files);
    fmt::print("{} ({} files)\n", folder_beside(out).string(), files.size());
  }
  return kDone;
}

}  // namespace

void add_report_command(CLI::App& app, int& code) {
  CLI::App* sub =
      app.add_subcommand("report", "Write one HTML page that shows a run, or compares several");
  const auto command = std::make_shared<ReportCommand>();
  add_machine_options(*sub, command->machine);
  add_settings(*sub, command->settings);
  sub->add_option("runs", command->runs, "Run directories, or directories of sweeps")
      ->required()
      ->type_name("RUN");
  sub->add_flag("--best", command->best,
                "Measure the checkpoints with the lowest validation NLL, not the newest; needs "
                "data.valid");
  sub->add_option("--out", command->out, "HTML file (else report.html in the first directory)")
      ->check(not_empty());
  sub->add_flag("--files", command->files,
                "Write each chart as SVG, and its numbers and the final figures as CSV, into a "
                "folder beside the page: report-files/ beside report.html");
  add_seeds(*sub, command->seeds);
  sub->add_flag("--json", command->json,
                "Print the figures of the page for programs, as JSON, and write no page; "
                "docs/json.md has every key");
  sub->footer(
      examples("  sfnn report runs/first\n"
               "  sfnn report runs/g1 runs/g3 runs/g5 --out estimators.html\n"
               "  sfnn report sweeps/estimators\n"
               "  sfnn report runs/first --out talk.html --files\n"
               "  sfnn report runs/first --set eval.particles=1000 --set data.test_limit=500"));
  sub->callback([command, &code] { code = run_report(*command); });
}

}  // namespace sfnn
