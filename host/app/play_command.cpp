#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "host/app/command_line.hpp"
#include "host/app/commands.hpp"
#include "host/devices/registry.hpp"
#include "host/formats/atomic_file.hpp"
#include "host/report/play.hpp"
#include "host/run/loaded_network.hpp"
#include "host/run/run_directory.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

struct PlayCommand {
  MachineOptions machine;
  std::string run, out;  // out empty: play.html in the run's directory
  std::vector<std::string> settings;
  bool best = false;
};

// Of a checkpoint file alone: in the folder that one is in.
fs::path place_of(const PlayCommand& command) {
  if (!command.out.empty()) return command.out;
  return fs::is_directory(command.run) ? RunDirectory(command.run).play() : fs::path("play.html");
}

int run_play(const PlayCommand& command) {
  if (!command.out.empty()) require_output("--out", command.out, {".html"});
  const auto backend = make_backend(command.machine.backend);
  const LoadedNetwork loaded(*backend, command.machine,
                             open_checkpoint(command.run, command.best, warn), command.settings);
  const std::string page = play_page(name_of_run(command.run), loaded);
  const fs::path out = place_of(command);
  if (command.out.empty()) {
    write_file_atomically(out, page);
  } else {
    write_output(out, page);
    if (is_stream(out)) return kDone;  // it may be stdout
  }
  fmt::print("{} ({} kB): open it in a browser\n", out.string(), page.size() / 1000);
  return kDone;
}

}  // namespace

void add_play_command(CLI::App& app, int& code) {
  const auto command = std::make_shared<PlayCommand>();
  CLI::App* sub = app.add_subcommand(
      "play", "Write one HTML page to play with a network: draw an input, see what it makes of it");
  add_machine_options(*sub, command->machine);
  add_settings(*sub, command->settings);
  add_run(*sub, command->run, command->best);
  sub->add_option("--out", command->out, "HTML file (else play.html in the run's directory)")
      ->check(not_empty());
  sub->footer(
      "The page holds the weights and needs neither network nor server. Its probabilities are "
      "those of `sfnn predict`.\n\n" +
      examples("  sfnn play runs/demo\n"
               "  sfnn play runs/digits --set eval.particles=1000 --out digits.html"));
  sub->callback([command, &code] { code = run_play(*command); });
}

}  // namespace sfnn
