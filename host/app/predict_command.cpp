#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <numeric>

#include "host/app/command_line.hpp"
#include "host/app/commands.hpp"
#include "host/backend/error.hpp"
#include "host/data/idx.hpp"
#include "host/io/atomic_file.hpp"
#include "host/io/npy.hpp"
#include "host/io/run_directory.hpp"
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

// --- inputs ------------------------------------------------------------------------------------

NpyArray read_array(const fs::path& path) {
  if (path.extension() == ".npy") return read_npy(path);
  Images images = read_images(path);
  return {{images.count, images.height, images.width}, std::move(images.pixels)};
}

// Bytes are grey values, 255 for one, unless none is above 1: then they are bits. All other
// numbers are taken as they are.
Columns columns_of(NpyArray array, std::int64_t cols, const std::string& name) {
  if (auto* bytes = std::get_if<std::vector<std::uint8_t>>(&array.values)) {
    const bool grey = std::any_of(bytes->begin(), bytes->end(), [](auto b) { return b > 1; });
    return {std::move(*bytes), cols, grey ? kGreyScale : 1.0f};
  }
  std::vector<float> values;
  std::visit([&](const auto& numbers) { values.assign(numbers.begin(), numbers.end()); },
             array.values);
  const auto bad =
      std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
  if (bad != values.end()) {
    throw DataError(fmt::format("{}: example {} holds a number that is not finite", name,
                                (bad - values.begin()) / cols));
  }
  return {std::move(values), cols};
}

Examples read_inputs(const std::string& name, const NetworkSpec& spec) {
  NpyArray array = read_array(name);
  const std::string shape = fmt::format("{}", fmt::join(array.shape, " x "));
  if (array.shape.size() != 2 && array.shape.size() != 3) {
    throw DataError(
        fmt::format("{}: has the shape [{}] where an example a row is needed, [n, {}] "
                    "or [n, height, width]",
                    name, shape, spec.D_in));
  }
  const std::int64_t count = array.shape[0], cols = array.shape.size() == 2
                                                        ? array.shape[1]
                                                        : array.shape[1] * array.shape[2];
  if (count == 0) throw DataError(fmt::format("{}: has no examples", name));
  if (count > std::numeric_limits<std::int32_t>::max())
    throw DataError(fmt::format("{}: has more than 2^31 - 1 examples", name));
  if (cols != spec.D_in) {
    throw DataError(fmt::format("{}: has {} numbers an example, and the network {} reads {}", name,
                                cols, to_string(spec), spec.D_in));
  }
  return inputs_only(spec, columns_of(std::move(array), cols, name), count);
}

// --- outputs -----------------------------------------------------------------------------------

template <class T>
NpyArray array_of(std::vector<std::int64_t> shape, const std::vector<float>& values) {
  return {std::move(shape), std::vector<T>(values.begin(), values.end())};
}

// Means as floats, bits as bytes, classes as whole numbers.
NpyArray predict(const PredictCommand& command, const Config& config, const Checkpoint& saved) {
  const NetworkSpec spec = test_network_of(config, saved.network);
  const Examples inputs = read_inputs(command.input, spec);
  const auto backend = make_backend(command.machine.backend);
  const Buffer params(*backend, saved.params.size() * sizeof(float));
  backend->upload(std::as_bytes(std::span(saved.params)), params.data());
  if (command.samples == 0) {
    return array_of<float>({inputs.count, spec.D_out},
                           mean_outputs(*backend, spec, params.floats(), inputs, saved.x_mean,
                                        {config.eval.particles, config.seed}));
  }
  const std::int64_t M = command.samples;
  std::vector<std::int32_t> rows(inputs.count);
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<float> y =
      sample_outputs(*backend, spec, params.floats(), inputs, saved.x_mean, rows, M, config.seed);
  if (command.expected) return array_of<float>({inputs.count, M, spec.D_out}, y);
  y = draw_outputs(spec.output, std::move(y), inputs.count, M, config.seed);
  switch (spec.output) {
    case Output::softmax:
      return array_of<std::int32_t>({inputs.count, M}, y);
    case Output::bernoulli:
      return array_of<std::uint8_t>({inputs.count, M, spec.D_out}, y);
    case Output::gaussian:
      break;
  }
  return array_of<float>({inputs.count, M, spec.D_out}, y);
}

// A row an example, or with samples a row a sample with both numbers in front.
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
  const std::string ending = fs::path(command.out).extension().string();
  if (ending != ".npy" && ending != ".csv")
    throw ConfigError(fmt::format("--out {}: must end in .npy or .csv", command.out));
  const Checkpoint saved = open_checkpoint(command.run, command.best, [](const std::string& line) {
    fmt::print(stderr, "sfnn: {}\n", line);
  });
  Config config = saved.config;
  for (const std::string& setting : command.settings) apply_setting(config, setting);
  config.validate();
  const NpyArray array = predict(command, config, saved);
  const bool samples = command.samples > 0;
  const bool classes = samples && !command.expected && saved.network.output == Output::softmax;
  if (ending == ".npy") {
    write_npy(command.out, array);
  } else {
    write_file_atomically(command.out, to_csv(array, samples, classes));
  }
  const char* what = classes                                    ? "classes"
                     : samples                                  ? "samples"
                     : saved.network.output == Output::gaussian ? "means"
                                                                : "probabilities";
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
                  "Inputs: .npy of shape [n, D_in] or [n, height, width], or IDX images")
      ->required();
  sub->add_option("--out", command->out, "Where to write: .npy or .csv")->capture_default_str();
  sub->add_option("--samples", command->samples,
                  "Draw so many y for each input; 0: the mean of eval.particles draws of the "
                  "hidden units, which is the probability of a class or a pixel")
      ->check(CLI::Range(std::int64_t(0), std::int64_t(1) << 31))
      ->capture_default_str();
  sub->add_flag("--expected", command->expected,
                "With --samples: E[y|h] of each draw of the hidden units, not y itself");
  sub->footer(
      "Bytes are grey values, divided by 255, unless none is above 1; other numbers are taken as "
      "they are.\nThe mean that training took off its inputs is taken off these, too.\n\n" +
      examples("  sfnn predict runs/digits --input digits.npy --out probabilities.csv\n"
               "  sfnn predict runs/halves --input upper.npy --samples 20 --out lower.npy"));
  sub->callback([command, &code] { code = run_predict(*command); });
}

}  // namespace sfnn
