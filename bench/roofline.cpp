// What a training step costs on paper: each launch with its bytes, its operations and the time it
// would take at the peak rates of some GPUs. A floor: operands that stay in a cache may beat the
// memory's rate, but small launches last longer than their bytes. How much longer is a forecast by
// a model of latencies (lib/latency.hpp), in a line of its own.
#include <fmt/format.h>

#include "bench/lib/latency.hpp"
#include "bench/lib/program.hpp"
#include "host/base/error.hpp"

namespace sfnn::bench {
namespace {

struct Options {
  std::int64_t inputs = 392, outputs = 392;  // MNIST's upper and lower halves
  std::vector<std::string> hidden{"200s", "200s"};
  std::string output = "bernoulli", estimator = "G3", math = "fp32";
  std::int64_t batch = 100, particles = 20;
  double keep = 1;
};

NetworkSpec spec_of(const Options& options) {
  NetworkSpec spec{.D_in = options.inputs,
                   .hidden = {},
                   .D_out = options.outputs,
                   .output = parse_output(options.output).value()};
  for (const std::string& layer : options.hidden) spec.hidden.push_back(parse_layer(layer));
  return spec;
}

std::vector<std::string> output_names() {
  std::vector<std::string> names;
  for (const OutputRow& row : kOutputs) names.emplace_back(row.name);
  return names;
}

Estimator estimator_of(const std::string& name) {
  for (const EstimatorRow& estimator : kEstimators)
    if (estimator.name == name) return estimator.id;
  throw ConfigError(fmt::format("estimator '{}' is not known: use G1 to G5", name));
}

void print_row(std::string_view name, double bytes, double operations) {
  fmt::print("{:<24} {:>10.3f} {:>10.3f}", name, bytes / 1e6, operations / 1e6);
}

// By the model of latencies: the whole step, and what of it lies where.
void print_forecasts(const std::vector<Launch>& launches, const std::vector<Launch>& products) {
  const auto line = [](const char* name, auto&& of) {
    fmt::print("{:<46}", name);
    for (const Gpu& gpu : kGpus) fmt::print(" {:>11.1f}", 1e6 * of(gpu));
    fmt::print("\n");
  };
  const auto without_gaps = [](const std::vector<Launch>& some, const Gpu& gpu) {
    return forecast(some, gpu) - kNodeGap * double(some.size());
  };
  line("forecast with latencies, as a graph",
       [&](const Gpu& gpu) { return forecast(launches, gpu); });
  line("  of it products", [&](const Gpu& gpu) { return without_gaps(products, gpu); });
  line("  of it other kernels",
       [&](const Gpu& gpu) { return without_gaps(launches, gpu) - without_gaps(products, gpu); });
  line("  of it gaps", [&](const Gpu&) { return kNodeGap * double(launches.size()); });
  line("forecast with latencies, launch by launch",
       [&](const Gpu& gpu) { return forecast_eager(launches, gpu); });
}

void print_totals(const std::vector<Launch>& launches) {
  double bytes = 0, operations = 0;
  std::vector<Launch> products;
  for (const Launch& launch : launches) {
    bytes += launch.bytes;
    operations += launch.operations;
    if (launch.product) products.push_back(launch);
  }
  print_row(fmt::format("step, {} launches", launches.size()), bytes, operations);
  for (const Gpu& gpu : kGpus) fmt::print(" {:>11.2f}", 1e6 * seconds(launches, gpu));
  fmt::print("\n{:<46}", "of it products, %");
  for (const Gpu& gpu : kGpus)
    fmt::print(" {:>11.1f}", 100 * seconds(products, gpu) / seconds(launches, gpu));
  fmt::print("\n");
  print_forecasts(launches, products);
}

// What the arithmetic of the products and the dropping of particles would gain.
void print_choices(const NetworkSpec& spec, const TrainOptions& train, double fewer) {
  const auto plain = launches_of_step(spec, train, Math::fp32, /*keep=*/1);
  fmt::print("\n{:<46}", "the step's time against fp32 with all particles");
  for (const Gpu& gpu : kGpus) fmt::print(" {:>11}", gpu.name);
  for (const double keep : {1.0, fewer}) {
    for (const char* math : {"fp32", "tf32", "bf16x3"}) {
      const auto launches = launches_of_step(spec, train, parse_math_mode(math), keep);
      fmt::print("\n{:<46}", fmt::format("{:<8} {:g} % of the particles kept", math, 100 * keep));
      for (const Gpu& gpu : kGpus)
        fmt::print(" {:>11.2f}", seconds(launches, gpu) / seconds(plain, gpu));
    }
  }
  fmt::print("\n");
}

void run(const Options& options) {
  const NetworkSpec spec = spec_of(options);
  const TrainOptions train{.estimator = estimator_of(options.estimator),
                           .particles = options.particles,
                           .batch = options.batch};
  const std::vector<Launch> launches =
      launches_of_step(spec, train, parse_math_mode(options.math), options.keep);
  fmt::print("predicted, not measured: times are what the peak rates of the data sheets allow\n");
  fmt::print("{}, batch {}, M {}, {}, {} products", to_string(spec), options.batch,
             options.particles, options.estimator, options.math);
  if (options.keep < 1) fmt::print(", {:g} % of the particles kept", 100 * options.keep);
  fmt::print("\n\n{:<24} {:>10} {:>10}", "launch", "MB", "Mflop");
  for (const Gpu& gpu : kGpus) fmt::print(" {:>11}", fmt::format("{} us", gpu.name));
  fmt::print("\n");
  for (const Launch& launch : launches) {
    print_row(launch.name, launch.bytes, launch.operations);
    for (const Gpu& gpu : kGpus) fmt::print(" {:>11.3f}", 1e6 * seconds(launch, gpu));
    fmt::print("\n");
  }
  print_totals(launches);
  constexpr double kFewer = 0.2;
  print_choices(spec, train, options.keep < 1 ? options.keep : kFewer);
}

}  // namespace
}  // namespace sfnn::bench

int main(int argc, char** argv) {
  using namespace sfnn::bench;
  Options options;
  CLI::App app("Prints the launches of a training step and how long they would take on paper.");
  app.add_option("--inputs", options.inputs, "Width of x")
      ->check(CLI::Range(0, 1 << 30))
      ->capture_default_str();
  app.add_option("--hidden", options.hidden,
                 "Layers, as in --hidden 200s 200s; also 200d, 40s+160d, 40n+160d")
      ->capture_default_str();
  app.add_option("--outputs", options.outputs, "Width of y, or the number of classes")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  app.add_option("--output", options.output, "Distribution of y")
      ->check(CLI::IsMember(output_names()))
      ->capture_default_str();
  app.add_option("--estimator", options.estimator, "G1 to G5")->capture_default_str();
  app.add_option("--batch", options.batch, "Examples per step")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  app.add_option("--particles,-M", options.particles, "Particles per example")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  app.add_option("--math", options.math, "Arithmetic of the products: fp32, tf32, bf16x3")
      ->capture_default_str();
  app.add_option("--keep", options.keep,
                 "Share of the particles that compaction leaves; 1: no compaction")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  return run_program("roofline", app, argc, argv, [&] { run(options); });
}
