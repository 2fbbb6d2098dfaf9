#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "host/app/command_line.hpp"
#include "host/app/commands.hpp"
#include "host/base/error.hpp"
#include "host/devices/registry.hpp"
#include "host/formats/atomic_file.hpp"
#include "host/run/loaded_network.hpp"
#include "host/run/run_directory.hpp"
#include "host/train/evaluate.hpp"

namespace sfnn {
namespace {

struct EvalCommand {
  MachineOptions machine;
  std::string run;  // a run directory or a checkpoint
  std::vector<std::string> settings;
  std::string curve_file;  // C_hat_1..M as CSV
  bool best = false;
};

int run_eval(const EvalCommand& command) {
  if (!command.curve_file.empty()) require_output("--curve", command.curve_file, {".csv"});
  const auto backend = make_backend(command.machine.backend);
  const LoadedNetwork loaded(*backend, command.machine,
                             open_checkpoint(command.run, command.best, warn), command.settings);
  const Evaluation result =
      evaluate(loaded.model(), loaded.data().test,
               {.particles = loaded.config().eval.particles, .seed = loaded.config().train.seed});
  fmt::print("network              {}\n", to_string(loaded.model().spec()));
  fmt::print("data                 {}, {} test examples\n", loaded.data().name, result.examples);
  fmt::print("particles            {}\n", result.particles);
  fmt::print("test NLL             {:.4f}\n", result.nll);
  fmt::print("effective particles  {:.2f}\n", result.effective_particles);
  if (result.error) fmt::print("test error           {:.2f} %\n", 100 * *result.error);
  if (result.criterion_sse) fmt::print("criterion SSE        {:.4f}\n", *result.criterion_sse);
  if (result.mean_sse) fmt::print("SSE of the mean      {:.4f}\n", *result.mean_sse);
  if (!command.curve_file.empty()) {
    std::string csv = "M,C_hat\n";
    for (std::size_t k = 0; k < result.curve.size(); ++k)
      csv += fmt::format("{},{:.9g}\n", k + 1, result.curve[k]);
    std::fflush(stdout);  // the curve may go there as well
    write_output(command.curve_file, csv);
  }
  return kDone;
}

}  // namespace

void add_eval_command(CLI::App& app, int& code) {
  const auto command = std::make_shared<EvalCommand>();
  CLI::App* sub = app.add_subcommand("eval", "Measure a trained network on its test examples");
  add_machine_options(*sub, command->machine);
  add_settings(*sub, command->settings);
  add_run(*sub, command->run, command->best);
  sub->add_option("--curve", command->curve_file, "CSV file for C_hat_1 .. C_hat_M")
      ->check(not_empty());
  sub->footer(
      examples("  sfnn eval runs/first\n  sfnn eval runs/first --set eval.particles=1000 --curve "
               "curve.csv"));
  sub->callback([command, &code] { code = run_eval(*command); });
}

}  // namespace sfnn
