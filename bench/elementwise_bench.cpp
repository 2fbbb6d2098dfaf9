// The loops of a step that touch every unit or every output once: nanoseconds per element, one
// core.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "host/backend/cpu/cpu_backend.hpp"

namespace sfnn {
namespace {

constexpr Tile kTile{.N = 12, .M = 20};

std::vector<float> normals(std::int64_t count) {
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(engine);
  return values;
}

void report(benchmark::State& state, std::int64_t elements) {
  state.counters["ns"] =
      benchmark::Counter(double(elements) * 1e-9, benchmark::Counter::kIsIterationInvariantRate |
                                                      benchmark::Counter::kInvert);
}

void sample_hidden(benchmark::State& state) {
  const std::int64_t H = state.range(0), rows = state.range(1) ? kTile.N : kTile.rows();
  CpuBackend backend(1);
  const auto a = normals(rows * H), b = normals(H);
  Buffer buffer(backend, backend.bits_bytes(kTile.rows(), H));
  for (auto _ : state) {
    backend.sample_hidden({{.seed = 1, .site = 0},
                           kTile,
                           {a.data(), rows, H},
                           b.data(),
                           {buffer.data(), kTile.rows(), H}});
    benchmark::ClobberMemory();
  }
  report(state, kTile.rows() * H);
}
BENCHMARK(sample_hidden)->ArgNames({"H", "shared"})->ArgsProduct({{200, 1024}, {0, 1}});

struct OutputCase {
  OutputCase(Output output, std::int64_t D)
      : o(normals(kTile.rows() * D)), c(normals(D)), y(std::size_t(kTile.N * D), 1.0f) {
    args = {.output = output,
            .tile = kTile,
            .o = {o.data(), kTile.rows(), D},
            .c = c.data(),
            .y = {y.data(), kTile.N, target_width(output, D)}};
  }
  std::vector<float> o, c, y;
  OutputOperands args;
};

void output_log_prob(benchmark::State& state) {
  CpuBackend backend(1);
  const OutputCase given(Output(state.range(0)), state.range(1));
  std::vector<float> log_w(std::size_t(kTile.rows()));
  for (auto _ : state) {
    backend.output_log_prob({given.args, log_w.data()});
    benchmark::ClobberMemory();
  }
  report(state, given.args.o.size());
}
BENCHMARK(output_log_prob)
    ->ArgNames({"output", "D"})
    ->Args({0, 10})
    ->Args({1, 392})
    ->Args({2, 2304});

void output_grad(benchmark::State& state) {
  CpuBackend backend(1);
  const OutputCase given(Output(state.range(0)), state.range(1));
  const auto w_bar = normals(kTile.rows());
  std::vector<float> g(given.o.size());
  for (auto _ : state) {
    backend.output_grad({given.args,
                         w_bar.data(),
                         {nullptr, kTile.rows()},
                         {g.data(), kTile.rows(), given.args.o.cols}});
    benchmark::ClobberMemory();
  }
  report(state, given.args.o.size());
}
BENCHMARK(output_grad)->ArgNames({"output", "D"})->Args({0, 10})->Args({1, 392})->Args({2, 2304});

}  // namespace
}  // namespace sfnn

BENCHMARK_MAIN();
