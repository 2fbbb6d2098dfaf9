// The command line. Only here are errors printed and exit codes chosen:
// 0 done, 1 failed, 2 usage or config, 3 stopped by a signal with the state saved.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <new>

#include "host/app/commands.hpp"
#include "host/backend/error.hpp"
#include "host/io/config.hpp"

namespace sfnn {
namespace {

void add_machine_options(CLI::App& app, MachineOptions& machine) {
  app.add_option("--data", machine.data_root,
                 "Folder with the data sets (else the variable SFNN_DATA)");
  app.add_option("--device", machine.backend.device, "Where to compute")
      ->check(CLI::IsMember({"auto", "cpu"}))
      ->capture_default_str();
  app.add_option("--threads", machine.backend.threads, "Threads on the CPU; 0: one a core")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app.add_flag("!--eager", machine.backend.graph,
               "On a GPU: launch by launch instead of as a graph, for profilers");
  app.add_flag("--plain", machine.backend.plain,
               "The plain CPU path: slower, the oracle of the others");
}

void add_settings(CLI::App& app, std::vector<std::string>& settings) {
  app.add_option("--set", settings,
                 "Change a config value, as in --set train.epochs=5; may be repeated")
      ->type_name("KEY=VALUE")
      ->take_all();
}

void add_run(CLI::App& app, std::string& run, bool& best) {
  app.add_option("run", run, "A run directory or a checkpoint file")->required();
  app.add_flag("--best", best, "The checkpoint of lowest validation NLL, not the newest");
}

std::string examples(const std::string& lines) { return "Examples:\n" + lines; }

int run_command_line(int argc, char** argv) {
  CLI::App app("sfnn trains feedforward networks whose hidden units are binary and random.",
               "sfnn");
  app.footer(
      "Exit codes: 0 done, 1 failed, 2 usage or config, 3 stopped by a signal with the state "
      "saved.");
  int code = kDone;

  TrainCommand train;
  auto* sub = app.add_subcommand("train", "Train a network");
  add_machine_options(*sub, train.machine);
  add_settings(*sub, train.settings);
  sub->add_option("--config", train.config_file, "TOML file; defaults < file < --set");
  sub->add_option("--out", train.out, "Run directory (else a new one below runs/)");
  sub->add_flag("--resume", train.resume, "Go on from the newest checkpoint of --out");
  sub->add_option("--profile-steps", train.machine.profile_steps,
                  "Mark steps for a profiler: 100:110, the ten after the first hundred");
  sub->add_flag("--dry-run", train.dry_run, "Print the network and the memory plan, and stop");
  sub->add_flag("--quiet", train.quiet, "Print nothing but errors");
  sub->footer([] {
    return examples(
               "  sfnn train --out runs/first\n"
               "  sfnn train --config bench/paper/mnist-halves.toml --set train.epochs=5 --data "
               "~/data\n"
               "  sfnn train --out runs/first --resume\n\nConfig keys, with their defaults:\n") +
           config_help();
  });
  sub->callback([&] { code = run_train(train); });

  EvalCommand eval;
  sub = app.add_subcommand("eval", "Measure a trained network on its test examples");
  add_machine_options(*sub, eval.machine);
  add_settings(*sub, eval.settings);
  add_run(*sub, eval.run, eval.best);
  sub->add_option("--curve", eval.curve_file, "Write C_hat_1 .. C_hat_M to this CSV file");
  sub->footer(
      examples("  sfnn eval runs/first\n  sfnn eval runs/first --set eval.particles=1000 --curve "
               "curve.csv"));
  sub->callback([&] { code = run_eval(eval); });

  SampleCommand sample;
  sub = app.add_subcommand("sample", "Draw a picture: test examples, their inputs, and samples");
  add_machine_options(*sub, sample.machine);
  add_settings(*sub, sample.settings);
  add_run(*sub, sample.run, sample.best);
  sub->add_option("--out", sample.out, "PNG file")->capture_default_str();
  sub->add_option("--rows", sample.picture.rows, "Test examples shown")->capture_default_str();
  sub->add_option("--samples", sample.picture.samples, "Samples for each")->capture_default_str();
  sub->add_option("--first", sample.picture.first, "The first test example shown")
      ->capture_default_str();
  sub->add_flag("--draw-pixels", sample.picture.draw_pixels,
                "Draw pixels as bits, not as probabilities");
  sub->footer(examples("  sfnn sample runs/first --out samples.png --rows 8"));
  sub->callback([&] { code = run_sample(sample); });

  DemoCommand demo;
  sub =
      app.add_subcommand("demo", "Train on the built-in glyphs for a minute and draw completions");
  add_machine_options(*sub, demo.machine);
  sub->add_option("--out", demo.out, "Run directory, made anew")->capture_default_str();
  sub->add_flag("--quiet", demo.quiet, "Print the last line only");
  sub->callback([&] { code = run_demo(demo); });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUsage;
  }
  if (app.get_subcommands().empty()) {
    fmt::print(stderr, "{}", app.help());
    return kUsage;
  }
  return code;
}

}  // namespace
}  // namespace sfnn

int main(int argc, char** argv) {
  using namespace sfnn;
  try {
    return run_command_line(argc, argv);
  } catch (const ConfigError& error) {
    fmt::print(stderr, "sfnn: {}\n", error.what());
    return kUsage;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "sfnn: out of memory\n");
    return kFailed;
  } catch (const std::exception& error) {
    fmt::print(stderr, "sfnn: {}\n", error.what());
    return kFailed;
  }
}
