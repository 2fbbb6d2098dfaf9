#include <fmt/format.h>

#include <memory>

#include "host/app/command_line.hpp"
#include "host/app/commands.hpp"
#include "host/app/signals.hpp"
#include "host/app/terminal_progress.hpp"
#include "host/data/glyphs.hpp"
#include "host/devices/registry.hpp"
#include "host/formats/atomic_file.hpp"
#include "host/report/play.hpp"
#include "host/run/loaded_network.hpp"
#include "host/run/training_run.hpp"

namespace sfnn {
namespace {

struct DemoCommand {
  MachineOptions machine;
  std::string out = "runs/demo";
  bool quiet = false;
};

Config demo_config() {
  Config config;
  config.data.set = "glyphs";
  config.data.center = true;
  config.data.valid = 500;
  config.train.estimator = Estimator::G3;
  config.train.particles = 20;
  config.train.epochs = 30;
  config.train.learning_rate = 0.03;
  return config;
}

void write_play_page(Backend& backend, const DemoCommand& command, const RunDirectory& directory) {
  const LoadedNetwork loaded(backend, command.machine,
                             open_checkpoint(directory.path(), /*best=*/false, warn), {});
  write_file_atomically(directory.play(), play_page(name_of_run(directory.path()), loaded));
}

// Three commands to copy, each of which works as printed.
void print_next_commands(const std::string& run) {
  const std::string sfnn = called_as(), demo = shell_word(run), other = shell_word(run + "-g5");
  fmt::print("\nTo try next:\n");
  fmt::print("  one page with curves, hidden units and samples, {}/report.html\n", run);
  fmt::print("    {} report {}\n", sfnn, demo);
  fmt::print("  a tighter bound, by more particles\n");
  fmt::print("    {} eval {} --set eval.particles=1000\n", sfnn, demo);
  fmt::print("  the same task by another gradient estimator\n");
  fmt::print("    {} train --config {}/config.toml --set train.estimator=G5 --out {}\n", sfnn, demo,
             other);
}

int run_demo(const DemoCommand& command) {
  const Config config = demo_config();
  const auto backend = make_backend(command.machine.backend);
  const DataSet data = data_of(config, command.machine);
  const GlyphBounds bounds = glyph_bounds(data.test);
  TerminalProgress progress(TerminalProgress::suitable_mode(command.quiet));
  Run fresh(command.out);
  fresh.directory().clear(config);  // an earlier demo's files, nothing else
  TrainingRun run(*backend, config, {.machine = command.machine, .stop = stop_requested}, data,
                  std::move(fresh), progress);
  run.start();
  progress.say(
      fmt::format("{} on {}, {}", to_string(run.network()), data.name, backend->describe()));
  progress.say(fmt::format(
      "an upper half of a glyph has several possible lower halves; best possible NLL {:.2f}, "
      "without hidden randomness {:.2f}",
      bounds.optimum_nll, bounds.factorial_nll));
  catch_stop_signals();
  if (run.train() == TrainingRun::End::stopped) {
    progress.say(fmt::format("stopped; continue with: sfnn train --resume --out {}",
                             run.directory().path().string()));
    return kStopped;
  }
  write_play_page(*backend, command, run.directory());
  fmt::print(
      "demo: test NLL {:.2f} (best possible {:.2f}; best without hidden randomness {:.2f}), "
      "samples {}\n"
      "to draw halves of your own and see them completed, open {} in a browser\n",
      run.test()->nll, bounds.optimum_nll, bounds.factorial_nll, run.directory().samples().string(),
      run.directory().play().string());
  if (!command.quiet) print_next_commands(command.out);
  return kDone;
}

}  // namespace

void add_demo_command(CLI::App& app, int& code) {
  const auto command = std::make_shared<DemoCommand>();
  CLI::App* sub = app.add_subcommand(
      "demo", "Train on the built-in glyphs for half a minute and draw completions");
  add_machine_options(*sub, command->machine);
  sub->add_option("--out", command->out, "Run directory; files of an earlier demo are replaced")
      ->check(not_empty())
      ->capture_default_str();
  sub->add_flag("--quiet", command->quiet, "Print the result only");
  sub->footer(examples("  sfnn demo\n  sfnn demo --out /tmp/demo --device cpu"));
  sub->callback([command, &code] { code = run_demo(*command); });
}

}  // namespace sfnn
