// Every kernel and whole steps on a GPU: ./run bench --device cuda
//
// Kernels are timed as graphs of many calls, with operands that stay where the previous call left
// them: those that fit in the second-level cache may beat the memory's own rate.
#include <fmt/format.h>

#include "bench/lib/cuda_timing.hpp"
#include "bench/lib/program.hpp"
#include "cuda/device.hpp"
#include "host/base/error.hpp"

namespace sfnn::bench {
namespace {

struct Options {
  std::string device = "cuda", math = "fp32";
  Repetitions repetitions;
  OpShape shape;
};

CudaBackend make_gpu(const Options& options, bool graph) {
  return CudaBackend(cuda_device_id(options.device), parse_math_mode(options.math), graph);
}

void run(const Options& options) {
  const std::string missing = why_no_cuda_device(options.device);
  if (!missing.empty()) {
    throw ConfigError(fmt::format("there is nothing to time: {}", missing));
  }
  CudaBackend eager = make_gpu(options, false), graph = make_gpu(options, true);
  const Math math = parse_math_mode(options.math);
  check_steps(eager, math);
  check_steps(graph, math);

  const auto [N, M, H, D] = options.shape;
  const NetworkSpec spec{.D_in = D, .hidden = {{.n_s = H}, {.n_s = H}}, .D_out = D};
  const TrainOptions train{.particles = M, .batch = N};
  fmt::print("{}\n{}, batch {}, M {}, G3\n\n", graph.describe(), to_string(spec), N, M);
  fmt::print("{:<44} {:>10} {:>10} {:>10}\n", "step", "ms", "GEMMs ms", "ratio");
  double graph_products_ms = 0;
  for (CudaBackend* gpu : {&eager, &graph}) {
    const double products = products_ms(*gpu, spec, train, options.repetitions);
    const double step = step_ms(*gpu, spec, train, options.repetitions);
    fmt::print("{:<44} {:>10.4f} {:>10.4f} {:>10.3f}\n", gpu == &eager ? "eager" : "graph", step,
               products, step / products);
    graph_products_ms = products;
  }
  fmt::print("\n{:<44} {:>10} {:>10} {:>10}\n", "kernel", "us", "GB/s", "of GEMMs");
  for (const OpCase& op : op_cases(options.shape)) {
    const OpTime time = time_op(op, op.reads_back ? eager : graph, math, options.repetitions);
    fmt::print("{:<44} {:>10.2f} {:>10.1f} {:>10.3f}\n",
               op.name + (op.reads_back ? " (eager)" : ""), 1e3 * time.ms,
               time.bytes / time.ms / 1e6, time.ms / graph_products_ms);
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace sfnn::bench

int main(int argc, char** argv) {
  using namespace sfnn::bench;
  Options options;
  CLI::App app("Times every kernel and whole steps on a GPU, each checked against the CPU first.");
  app.add_option("--device", options.device, "cuda, or cuda:1")->capture_default_str();
  app.add_option("--math", options.math, "Arithmetic of the products: fp32, tf32, bf16x3")
      ->capture_default_str();
  const auto count = [&](const char* name, auto& value, const char* help) {
    app.add_option(name, value, help)->check(CLI::Range(1, 1 << 30))->capture_default_str();
  };
  count("--rounds", options.repetitions.rounds, "The median of so many counts");
  count("--calls", options.repetitions.calls, "Calls a round");
  count("--batch", options.shape.N, "Examples a step");
  count("--particles,-M", options.shape.M, "Particles an example");
  count("--hidden", options.shape.H, "Units of each of the two hidden layers");
  count("--pixels", options.shape.D, "Width of x and of y");
  return run_program("cuda_bench", app, argc, argv, [&] { run(options); });
}
