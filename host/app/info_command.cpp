#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "host/app/command_line.hpp"
#include "host/app/commands.hpp"
#include "host/app/progress.hpp"
#include "host/io/metrics.hpp"
#include "host/io/run_directory.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

struct InfoCommand {
  std::string run;
  bool best = false;
};

void print_network(const Checkpoint& checkpoint) {
  const ParamLayout layout(checkpoint.network);
  fmt::print("network      {}\n", to_string(checkpoint.network));
  fmt::print("parameters   {}\n", layout.parameter_count());
  for (const ParamSlot& slot : layout.slots())
    fmt::print("  {:<12} {} x {}\n", slot.name, slot.rows, slot.cols);
}

void print_state(const Checkpoint& checkpoint) {
  const TrainState& state = checkpoint.state;
  const Config& config = checkpoint.config;
  fmt::print("checkpoint   step {}, epoch {} of {}, {} of training\n", state.step, state.epoch,
             config.train.epochs, duration(state.seconds));
  fmt::print("seeds        {} of weights and draws, {} of the data\n", config.seed,
             config.data.seed);
  fmt::print("tiles        {} examples, summed in {} parts\n", checkpoint.tiling.tile,
             checkpoint.tiling.parts);
  if (state.best_valid_nll)
    fmt::print("best         valid NLL {:.4f} in epoch {}\n", *state.best_valid_nll,
               state.best_epoch);
}

// A file that anybody may have edited: whatever the value is, it is shown and not trusted.
void print_history(const fs::path& directory) {
  const RunDirectory run(directory);
  const std::vector<MetricsLine> lines = read_metrics(run.metrics());
  if (!lines.empty()) {
    fmt::print("last line    of {} in {}\n", lines.size(), run.metrics().string());
    for (const auto& [key, value] : lines.back().items()) {
      const std::string quoted = MetricsLine(key).dump();  // control characters escaped
      fmt::print("  {:<22} {}\n", quoted.substr(1, quoted.size() - 2), value.dump());
    }
  }
  for (const MetricsLine& session : read_metrics(run.sessions()))
    fmt::print("session      {}\n", session.dump());
}

int run_info(const InfoCommand& command) {
  const Checkpoint checkpoint =
      open_checkpoint(command.run, command.best,
                      [](const std::string& line) { fmt::print(stderr, "sfnn: {}\n", line); });
  print_network(checkpoint);
  print_state(checkpoint);
  if (fs::is_directory(command.run)) print_history(command.run);
  fmt::print("config\n");
  const Config defaults;
  const auto standard = key_texts(defaults), used = key_texts(checkpoint.config);
  for (std::size_t k = 0; k < used.size(); ++k) {
    fmt::print("  {:<22} {}{}\n", used[k].first, used[k].second,
               used[k] == standard[k] ? "" : fmt::format("  (default {})", standard[k].second));
  }
  return kDone;
}

}  // namespace

void add_info_command(CLI::App& app, int& code) {
  CLI::App* sub = app.add_subcommand("info", "Show a run: network, state, history, config");
  const auto command = std::make_shared<InfoCommand>();
  add_run(*sub, command->run, command->best);
  sub->footer(examples("  sfnn info runs/first\n  sfnn info model.safetensors"));
  sub->callback([command, &code] { code = run_info(*command); });
}

}  // namespace sfnn
