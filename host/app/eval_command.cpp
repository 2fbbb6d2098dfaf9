#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "host/app/command_line.hpp"
#include "host/app/commands.hpp"
#include "host/devices/registry.hpp"
#include "host/formats/atomic_file.hpp"
#include "host/formats/npy.hpp"
#include "host/run/json.hpp"
#include "host/run/loaded_network.hpp"
#include "host/run/run_directory.hpp"
#include "host/train/evaluate.hpp"
#include "host/train/hidden_means.hpp"

namespace sfnn {
namespace {

struct EvalCommand {
  MachineOptions machine;
  std::string run;  // a run directory or a checkpoint
  std::vector<std::string> settings;
  std::string curve_file;     // C_hat_1..M as CSV
  std::string log_prob_file;  // log P(y|x) of each example as .npy
  std::string hidden_file;    // mean activations as .npy
  std::int64_t seeds = 1;
  bool best = false, json = false;
};

// "55.4271 \u00b1 0.2031", and with several draws "(sd over draws 0.0123)".
std::string with_errors(double figure, std::optional<double> standard_error,
                        std::optional<double> draw_sd, int digits) {
  std::string text = fmt::format("{:.{}f}", figure, digits);
  if (standard_error) text += fmt::format(" \u00b1 {:.{}f}", *standard_error, digits);
  if (draw_sd) text += fmt::format(" (sd over draws {:.{}f})", *draw_sd, digits);
  return text;
}

std::optional<double> percent(std::optional<double> share) {
  return share ? std::optional(100 * *share) : std::nullopt;
}

void print(const LoadedNetwork& loaded, const Evaluation& result) {
  const EvaluationErrors &se = result.standard_error, &sd = result.draw_sd;
  fmt::print("network              {}\n", to_string(loaded.model().spec()));
  fmt::print("data                 {}, {} test examples\n", loaded.data().name, result.examples);
  if (loaded.config().train.ema > 0) {
    const bool average = loaded.config().eval.weights == EvalWeights::average;
    fmt::print("weights              {}\n",
               average ? "average" : "as trained; --set eval.weights=average takes their average");
  }
  fmt::print("particles            {}{}\n", result.particles,
             result.draws > 1 ? fmt::format(", drawn {} times", result.draws) : "");
  fmt::print("test NLL             {}\n", with_errors(result.nll, se.nll, sd.nll, 4));
  fmt::print("effective particles  {:.2f}\n", result.effective_particles);
  if (const auto& by_R = result.proposal) {
    fmt::print("NLL bound by R       {}\n",
               with_errors(by_R->nll, by_R->nll_se, by_R->nll_draw_sd, 4));
    fmt::print("effective, by R      {:.2f}\n", by_R->effective_particles.value());
  }
  if (result.error) {
    fmt::print("test error           {} %\n",
               with_errors(100 * *result.error, percent(se.error), percent(sd.error), 2));
  }
  if (result.criterion_sse) {
    fmt::print("criterion SSE        {}\n",
               with_errors(*result.criterion_sse, se.criterion_sse, sd.criterion_sse, 4));
  }
  if (result.mean_sse) {
    fmt::print("SSE of the mean      {}\n",
               with_errors(*result.mean_sse, se.mean_sse, sd.mean_sse, 4));
  }
  if (result.sigma) fmt::print("sigma                {:.6g}\n", *result.sigma);
  if (se.nll) fmt::print("\u00b1: standard error over the test examples\n");
}

void print_json(const LoadedNetwork& loaded, const Checkpoint& saved, const Evaluation& result) {
  const Json json = {{"network", to_string(loaded.model().spec())},
                     {"checkpoint", json_of_state(saved)},
                     {"data", loaded.data().name},
                     {"weights", to_string(loaded.config().eval.weights)},
                     {"seed", loaded.config().train.seed},
                     {"test", json_of(result)}};
  fmt::print("{}", to_text(json));
}

void write_curve(const std::string& file, const Evaluation& result) {
  std::string csv = result.proposal ? "M,C_hat,C_hat_by_R\n" : "M,C_hat\n";
  for (std::size_t k = 0; k < result.curve.size(); ++k) {
    csv += fmt::format("{},{:.9g}", k + 1, result.curve[k]);
    csv += result.proposal ? fmt::format(",{:.9g}\n", result.proposal->curve[k]) : "\n";
  }
  write_output(file, csv);
}

void write_arrays(const EvalCommand& command, const LoadedNetwork& loaded,
                  const Evaluation& result) {
  if (!command.log_prob_file.empty()) {
    write_output(command.log_prob_file,
                 serialize_npy({{std::int64_t(result.log_p.size())}, result.log_p}));
  }
  if (command.hidden_file.empty()) return;
  const Model& model = loaded.model();
  write_output(command.hidden_file,
               serialize_npy({{loaded.data().test.count, hidden_units(model.spec())},
                              hidden_means(model, loaded.data().test,
                                           {.particles = loaded.config().eval.particles,
                                            .seed = loaded.config().train.seed})}));
}

int run_eval(const EvalCommand& command) {
  if (!command.curve_file.empty()) require_output("--curve", command.curve_file, {".csv"});
  if (!command.log_prob_file.empty()) require_output("--log-prob", command.log_prob_file, {".npy"});
  if (!command.hidden_file.empty()) require_output("--hidden", command.hidden_file, {".npy"});
  const auto backend = make_backend(command.machine.backend);
  const Checkpoint saved = open_checkpoint(command.run, command.best, warn);
  const LoadedNetwork loaded(*backend, command.machine, saved, command.settings);
  const Evaluation result = evaluate(loaded.model(), loaded.data().test,
                                     {.particles = loaded.config().eval.particles,
                                      .seed = loaded.config().train.seed,
                                      .draws = command.seeds},
                                     loaded.proposal());
  if (command.json) {
    print_json(loaded, saved, result);
  } else {
    print(loaded, result);
  }
  std::fflush(stdout);  // files may go there as well
  if (!command.curve_file.empty()) write_curve(command.curve_file, result);
  write_arrays(command, loaded, result);
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
  sub->add_option("--log-prob", command->log_prob_file,
                  ".npy file for log P(y|x) of each test example, as C_hat estimates it")
      ->check(not_empty());
  sub->add_option("--hidden", command->hidden_file,
                  ".npy file for the mean activation of each hidden unit for each test example: "
                  "[examples, units], layer by layer, in a layer the stochastic units first")
      ->check(not_empty());
  add_seeds(*sub, command->seeds);
  add_json(*sub, command->json);
  sub->footer(
      examples("  sfnn eval runs/first\n  sfnn eval runs/first --set eval.particles=1000 --curve "
               "curve.csv\n  sfnn eval runs/first --seeds 5 --json\n  sfnn eval runs/first "
               "--log-prob log_p.npy --hidden hidden.npy"));
  sub->callback([command, &code] { code = run_eval(*command); });
}

}  // namespace sfnn
