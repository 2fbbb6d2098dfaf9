#include <fmt/format.h>

#include <memory>

#include "host/app/command_line.hpp"
#include "host/app/commands.hpp"
#include "host/base/error.hpp"
#include "host/devices/registry.hpp"
#include "host/formats/atomic_file.hpp"
#include "host/formats/png.hpp"
#include "host/run/loaded_network.hpp"
#include "host/run/pictures.hpp"
#include "host/run/run_directory.hpp"

namespace sfnn {
namespace {

struct SampleCommand {
  MachineOptions machine;
  std::string run;
  std::vector<std::string> settings;
  std::string out = "samples.png";
  bool best = false;
  bool posterior = false;
  PictureOptions picture;
};

int run_sample(const SampleCommand& command) {
  require_output("--out", command.out, {".png"});
  const auto backend = make_backend(command.machine.backend);
  const LoadedNetwork loaded(*backend, command.machine,
                             open_checkpoint(command.run, command.best, warn), command.settings);
  if (command.posterior && !loaded.proposal())
    throw ConfigError("--posterior: the run has no R; train one with --set proposal.on=true");
  const Picture picture =
      sample_picture(loaded.model(), loaded.data(), loaded.config().train.seed, command.picture,
                     command.posterior ? loaded.proposal() : nullptr);
  write_output(command.out, encode_png(picture));
  if (is_stream(command.out)) return kDone;  // it may be stdout
  fmt::print("{} ({} x {})\n", command.out, picture.width, picture.height);
  return kDone;
}

}  // namespace

void add_sample_command(CLI::App& app, int& code) {
  const auto command = std::make_shared<SampleCommand>();
  CLI::App* sub =
      app.add_subcommand("sample", "Draw a picture: test examples, their inputs, and samples");
  add_machine_options(*sub, command->machine);
  add_settings(*sub, command->settings);
  add_run(*sub, command->run, command->best);
  sub->add_option("--out", command->out, "PNG file")->capture_default_str();
  sub->add_option("--rows", command->picture.rows, "Number of test examples")
      ->check(from_to(1, 100000))
      ->capture_default_str();
  sub->add_option("--samples", command->picture.samples, "Samples per example")
      ->check(from_to(1, 100000))
      ->capture_default_str();
  sub->add_option("--first", command->picture.first, "First test example, counted from 0")
      ->check(from_to(0, std::int64_t(1) << 31))
      ->capture_default_str();
  sub->add_flag("--draw-pixels", command->picture.draw_pixels,
                "Draw pixels as bits, not as probabilities");
  sub->add_flag("--posterior", command->posterior,
                "Draw hidden units from the run's R, which is given the target, too");
  sub->footer(
      examples("  sfnn sample runs/first --out samples.png --rows 8\n"
               "  sfnn sample runs/with-R --posterior --out posterior.png"));
  sub->callback([command, &code] { code = run_sample(*command); });
}

}  // namespace sfnn
