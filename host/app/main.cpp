// The command line. Only here are errors printed and exit codes chosen:
// 0 done, 1 failed, 2 usage or config, 3 stopped by a signal with the state saved.
#include <fmt/format.h>

#include <exception>
#include <new>

#include "host/app/command_line.hpp"
#include "host/app/commands.hpp"
#include "host/app/session.hpp"
#include "host/backend/error.hpp"
#include "host/io/config.hpp"

namespace sfnn {
namespace {

int run_command_line(int argc, char** argv) {
  CLI::App app("sfnn trains feedforward networks whose hidden units are binary and random.",
               "sfnn");
  app.footer(
      "Exit codes: 0 done, 1 failed, 2 usage or config, 3 stopped by a signal with the state "
      "saved.");
  app.set_version_flag("--version", "sfnn " + program_version());
  int code = kDone;

  TrainCommand train;
  auto* sub = app.add_subcommand("train", "Train a network");
  add_machine_options(*sub, train.machine);
  add_settings(*sub, train.settings);
  sub->add_option("--config", train.config_file, "TOML file; defaults < file < --set");
  sub->add_option("--out", train.out, "Run directory (else a new one below runs/)");
  sub->add_flag("--resume", train.resume, "Go on from the newest checkpoint of --out");
  sub->add_option("--init-from", train.init_from,
                  "A run or checkpoint whose weights to start from; a deterministic one starts a "
                  "stochastic one, too");
  sub->add_option("--search-lr", train.search_lr,
                  "Try the rates 1, 3 x 10^k of this range on the validation examples, then train "
                  "with the best")
      ->type_name("LOW:HIGH");
  sub->add_option("--search-epochs", train.search_epochs,
                  "Epochs of each rate tried; 0: a fifth of train.epochs, at least 2")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  sub->add_option("--profile-steps", train.machine.profile_steps,
                  "Mark steps for a profiler: 100:110, the ten after the first hundred");
  sub->add_flag("--dry-run", train.dry_run, "Print the network and the memory plan, and stop");
  sub->add_flag("--quiet", train.quiet, "Print nothing but errors");
  sub->footer([] {
    return examples(
               "  sfnn train --out runs/first\n"
               "  sfnn train --config bench/paper/mnist-halves.toml --set train.epochs=5 --data "
               "~/data\n"
               "  sfnn train --out runs/first --resume\n"
               "  sfnn train --init-from runs/first --set train.learning_rate=0.001 --out "
               "runs/tuned\n"
               "  sfnn train --set data.valid=1000 --search-lr 1e-4:1\n\nConfig keys, with their "
               "defaults:\n") +
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

  add_predict_command(app, code);
  add_report_command(app, code);
  add_info_command(app, code);
  add_devices_command(app, code);
  add_data_command(app, code);
  add_completion_command(app, code);

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
