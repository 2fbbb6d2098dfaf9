#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <numeric>

#include "host/app/command_line.hpp"
#include "host/app/commands.hpp"
#include "host/base/error.hpp"
#include "host/data/files.hpp"
#include "host/devices/registry.hpp"
#include "host/formats/atomic_file.hpp"
#include "host/formats/npy.hpp"
#include "host/run/run_directory.hpp"
#include "host/train/evaluate.hpp"
#include "host/train/predict.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

struct PredictCommand {
  MachineOptions machine;
  std::string run, input, out = "predictions.npy";
  std::vector<std::string> settings;
  std::int64_t samples = 0;  // 0: the mean over eval.particles
  bool best = false, expected = false;
};

// --- outputs -----------------------------------------------------------------------------------

template <class T>
NpyArray array_of(std::vector<std::int64_t> shape, const std::vector<float>& values) {
  return {std::move(shape), std::vector<T>(values.begin(), values.end())};
}

// What E[y] is called.
const char* means_word(Output output) {
  switch (output) {
    case Output::softmax:
    case Output::bernoulli:
      return "probabilities";
    case Output::gaussian:
    case Output::gaussian_learnt:
    case Output::gaussian_each:
    case Output::gaussian_predicted:
    case Output::poisson:
      return "means";
  }
  return "";
}

// y as NumPy should have it: classes and counts as whole numbers, bits as bytes.
NpyArray array_of_samples(const NetworkSpec& spec, std::int64_t count, std::int64_t M,
                          const std::vector<float>& y) {
  switch (spec.output) {
    case Output::softmax:
      return array_of<std::int32_t>({count, M}, y);
    case Output::bernoulli:
      return array_of<std::uint8_t>({count, M, spec.D_out}, y);
    case Output::gaussian:
    case Output::gaussian_learnt:
    case Output::gaussian_each:
    case Output::gaussian_predicted:
      return array_of<float>({count, M, spec.D_out}, y);
    case Output::poisson:
      return array_of<std::int64_t>({count, M, spec.D_out}, y);
  }
  return {};
}

// As in training, unless the command line says what bytes are.
ByteEncoding encoding_of(const PredictCommand& command, const Config& config,
                         const Checkpoint& saved) {
  const bool said = std::ranges::any_of(command.settings, [](const std::string& setting) {
    return setting.starts_with("data.bytes=");
  });
  if (!said || config.data.bytes == BytesAre::automatic) return saved.x_bytes;
  return config.data.bytes == BytesAre::grey ? ByteEncoding::grey : ByteEncoding::numbers;
}

NpyArray predict(const PredictCommand& command, const Config& config, const Checkpoint& saved) {
  const NetworkSpec spec = test_network_of(config, saved.network());
  ReadInputs read = read_inputs(command.input, spec.D_in, encoding_of(command, config, saved));
  if (!read.warning.empty()) warn("warning: " + read.warning);
  const std::int64_t count = read.x.rows();
  const Examples inputs = inputs_only(spec, std::move(read.x), count);
  const auto backend = make_backend(command.machine.backend);
  const Model model(*backend, spec, saved.weights(config.eval.weights), saved.units);
  if (command.samples == 0) {
    return array_of<float>({inputs.count, spec.D_out},
                           mean_outputs(model, inputs, {config.eval.particles, config.train.seed}));
  }
  const std::int64_t M = command.samples;
  std::vector<std::int32_t> rows(inputs.count);
  std::iota(rows.begin(), rows.end(), 0);
  SampledOutputs sampled = sample_outputs(model, inputs, rows, M, config.train.seed);
  if (command.expected) return array_of<float>({inputs.count, M, spec.D_out}, sampled.means);
  return array_of_samples(
      spec, inputs.count, M,
      draw_outputs(spec.output, std::move(sampled), inputs.count, M, config.train.seed));
}

// One row per example, or with samples one row per sample, which begins with both numbers.
std::string to_csv(const NpyArray& array, bool samples, bool classes) {
  const std::int64_t cols = classes ? 1 : array.shape.back();
  const std::int64_t M = samples ? array.shape[1] : 1, rows = array.shape[0] * M;
  std::string csv = samples ? "example,sample" : "example";
  for (std::int64_t i = 0; i < cols; ++i) csv += classes ? ",class" : fmt::format(",y{}", i);
  csv += '\n';
  std::visit(
      [&](const auto& values) {
        for (std::int64_t r = 0; r < rows; ++r) {
          csv += samples ? fmt::format("{},{}", r / M, r % M) : fmt::format("{}", r);
          for (std::int64_t i = 0; i < cols; ++i) csv += fmt::format(",{}", values[r * cols + i]);
          csv += '\n';
        }
      },
      array.values);
  return csv;
}

int run_predict(const PredictCommand& command) {
  require_output("--out", command.out, {".npy", ".csv"});
  if (command.expected && command.samples == 0)
    throw ConfigError("--expected says what to write of each sample: say how many with --samples");
  const Checkpoint saved = open_checkpoint(command.run, command.best, warn);
  const Config config = changed(saved.config, command.settings);
  const NpyArray array = predict(command, config, saved);
  const bool samples = command.samples > 0;
  const bool classes = samples && !command.expected && row_of(saved.network().output).class_target;
  const bool binary = fs::path(command.out).extension() == ".npy";
  write_output(command.out, binary ? serialize_npy(array) : to_csv(array, samples, classes));
  if (is_stream(command.out)) return kDone;  // it may be stdout
  const char* what = classes ? "classes" : samples ? "samples" : means_word(saved.network().output);
  fmt::print("{} ({} {})\n", command.out, fmt::join(array.shape, " x "), what);
  return kDone;
}

}  // namespace

void add_predict_command(CLI::App& app, int& code) {
  CLI::App* sub = app.add_subcommand("predict", "Apply a trained network to inputs of your own");
  const auto command = std::make_shared<PredictCommand>();
  add_machine_options(*sub, command->machine);
  add_settings(*sub, command->settings);
  add_run(*sub, command->run, command->best);
  sub->add_option("--input", command->input,
                  "Inputs: .npy, .npz, .csv, IDX or a folder of PNG, one example per row: [n, "
                  "D_in] or [n, height, width]")
      ->required()
      ->check(existing_path());
  sub->add_option("--out", command->out, "Output file: .npy or .csv; a pipe gets CSV")
      ->capture_default_str();
  sub->add_option("--samples", command->samples,
                  "Number of y to draw per input; 0: the mean of eval.particles draws of the "
                  "hidden units, which is the probability of a class or a pixel")
      ->check(from_to(0, std::int64_t(1) << 31))
      ->capture_default_str();
  sub->add_flag("--expected", command->expected,
                "With --samples: E[y|h] of each draw of the hidden units, not y itself");
  sub->footer(
      "uint8 inputs are read as in training, which `sfnn info RUN` shows: grey values, divided by "
      "255, bits, or numbers as\nthey are; --set data.bytes=grey or number says otherwise. Other "
      "types are used as they are. Inputs that were\ncentred or standardised in training are "
      "so here; predictions are in the targets' own units.\n\n" +
      examples("  sfnn predict runs/digits --input digits.npy --out probabilities.csv\n"
               "  sfnn predict runs/halves --input upper.npy --samples 20 --out lower.npy"));
  sub->callback([command, &code] { code = run_predict(*command); });
}

}  // namespace sfnn
