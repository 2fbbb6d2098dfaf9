// Products with packed bits by table look-up against the dense products of the same bits as
// floats, one core, in the same run. GFLOP/s counts the operations that the dense product does; a
// wrong product has no speed and ends the run.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <span>
#include <vector>

#include "host/backend/cpu/bit_product.hpp"
#include "host/backend/cpu/dense_product.hpp"
#include "host/backend/cpu/growing_buffer.hpp"
#include "host/backend/cpu/packed_bits.hpp"

namespace sfnn {
namespace {

// Aligned to 64 bytes, as a backend's memory is: a row that straddles cache lines halves the speed.
class Floats {
 public:
  Floats(std::int64_t rows, std::int64_t cols) : view_{buffer_.room(rows * cols), rows, cols} {
    std::fill_n(view_.data, view_.size(), 0.0f);
  }
  operator Matrix() const { return view_; }
  operator ConstMatrix() const { return view_; }
  std::span<float> values() const { return {view_.data, std::size_t(view_.size())}; }

 private:
  GrowingBuffer<float> buffer_;
  Matrix view_;
};

struct Operands {  // for z W and z^T g
  Operands(std::int64_t rows, std::int64_t K, std::int64_t H)
      : z(rows, K),
        W(K, H),
        g(rows, H),
        words(std::size_t(rows * words_per_row(K))),
        bits{reinterpret_cast<const std::byte*>(words.data()), rows, K} {
    std::mt19937 engine(1);
    for (std::int64_t e = 0; e < rows * K; ++e) {
      const std::uint64_t bit = engine() & 1;
      z.values()[std::size_t(e)] = float(bit);
      words[std::size_t(e / K * words_per_row(K) + e % K / 64)] |= bit << (e % K % 64);
    }
    for (const Floats* floats : {&W, &g})
      for (float& value : floats->values()) value = float(engine()) / float(1u << 31) - 1;
  }

  Floats z, W, g;
  std::vector<std::uint64_t> words;
  ConstBits bits;
};

double seconds(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Interleaves the two and reports the ratio of their best times.
void compare(benchmark::State& state, std::int64_t inner, std::span<const float> actual,
             std::span<const float> expected, const auto& lookup, const auto& dense) {
  lookup();
  dense();
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (!(std::abs(actual[i] - expected[i]) <= 1e-6f * float(inner + 10)))
      return state.SkipWithError("the product is wrong");
  }
  double best_lookup = INFINITY, best_dense = INFINITY;
  for (auto _ : state) {
    const double elapsed = seconds(lookup);
    state.SetIterationTime(elapsed);
    best_lookup = std::min(best_lookup, elapsed);
    best_dense = std::min(best_dense, seconds(dense));
  }
  const double operations = 2.0 * double(inner) * double(actual.size());
  state.counters["GFLOP/s"] = operations / best_lookup * 1e-9;
  state.counters["dense_GFLOP/s"] = operations / best_dense * 1e-9;
  state.counters["of_dense"] = best_lookup / best_dense;
}

void multiply(benchmark::State& state) {
  const std::int64_t rows = state.range(0), K = state.range(1), H = state.range(2);
  const Operands in(rows, K, H);
  const Floats actual(rows, H), expected(rows, H);
  compare(
      state, K, actual.values(), expected.values(),
      [&] { bit_product(in.bits, in.W, actual, Write::set); },
      [&] { dense::multiply(in.z, in.W, expected, Write::set); });
}

void accumulate_outer(benchmark::State& state) {
  const std::int64_t rows = state.range(0), K = state.range(1), H = state.range(2);
  const Operands in(rows, K, H);
  const Floats actual(K, H), expected(K, H);
  compare(
      state, rows, actual.values(), expected.values(),
      [&] {
        bit_outer_product(in.bits, {nullptr, rows}, in.g, actual);
      },
      [&] { dense::accumulate_outer(in.z, in.g, expected); });
}

BENCHMARK(multiply)
    ->UseManualTime()
    ->ArgNames({"rows", "K", "H"})
    ->ArgsProduct({{250, 500, 2000}, {200}, {10, 200, 392, 2304}})
    ->Args({1000, 1024, 1024})
    ->Args({1000, 1024, 784});
BENCHMARK(accumulate_outer)
    ->UseManualTime()
    ->ArgNames({"rows", "K", "H"})
    ->ArgsProduct({{80, 250, 500}, {200}, {10, 200, 392, 2304}})
    ->Args({500, 1024, 1024});

}  // namespace
}  // namespace sfnn

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
