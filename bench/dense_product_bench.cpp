// Our dense products against the same ones in OpenBLAS and in oneDNN, one core, in the same run,
// over the shapes of the workloads' steps. GFLOP/s each; a wrong product has no speed and ends the
// run.
//
// For one thread in each library: OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 dense_product_bench
#include <benchmark/benchmark.h>
#include <cblas.h>
#include <dnnl.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "bench/lib/clock.hpp"
#include "host/backend/cpu/dense_product.hpp"
#include "host/backend/cpu/growing_buffer.hpp"

namespace sfnn {
namespace {

enum class Kind { forward, back, outer };

// out [rows, cols] of `terms` terms: A B, A B^T or A^T B
class Operands {
 public:
  Operands(Kind kind, std::int64_t rows, std::int64_t terms, std::int64_t cols)
      : kind_(kind), rows_(rows), terms_(terms), cols_(cols) {
    std::mt19937 engine(1);
    for (auto [buffer, size] : {std::pair(&A_, rows * terms), std::pair(&B_, terms * cols)})
      std::generate_n(buffer->room(std::size_t(size)), size,
                      [&] { return float(engine()) / float(1u << 31) - 1; });
  }

  void ours(float* out) {
    const ConstMatrix A =
        kind_ == Kind::outer ? ConstMatrix{a(), terms_, rows_} : ConstMatrix{a(), rows_, terms_};
    const ConstMatrix B =
        kind_ == Kind::back ? ConstMatrix{b(), cols_, terms_} : ConstMatrix{b(), terms_, cols_};
    const Matrix to{out, rows_, cols_};
    switch (kind_) {
      case Kind::forward:
        return dense::multiply(A, B, to, Write::set);
      case Kind::back:
        return dense::multiply_transposed(A, B, to, Write::set);
      case Kind::outer:
        return dense::accumulate_outer(A, B, to);
    }
  }
  void in_openblas(float* out) {
    cblas_sgemm(CblasRowMajor, kind_ == Kind::outer ? CblasTrans : CblasNoTrans,
                kind_ == Kind::back ? CblasTrans : CblasNoTrans, int(rows_), int(cols_),
                int(terms_), 1.0f, a(), int(a_stride()), b(), int(b_stride()), beta(), out,
                int(cols_));
  }
  void in_onednn(float* out) {
    dnnl_sgemm(kind_ == Kind::outer ? 'T' : 'N', kind_ == Kind::back ? 'T' : 'N', rows_, cols_,
               terms_, 1.0f, a(), a_stride(), b(), b_stride(), beta(), out, cols_);
  }
  std::int64_t size() const { return rows_ * cols_; }
  double operations() const { return 2.0 * double(size() * terms_); }

 private:
  float* a() { return A_.room(0); }
  float* b() { return B_.room(0); }
  float beta() const { return kind_ == Kind::outer ? 1.0f : 0.0f; }
  std::int64_t a_stride() const { return kind_ == Kind::outer ? rows_ : terms_; }
  std::int64_t b_stride() const { return kind_ == Kind::back ? terms_ : cols_; }

  Kind kind_;
  std::int64_t rows_, terms_, cols_;
  GrowingBuffer<float> A_, B_;
};

void compare(benchmark::State& state, Kind kind) {
  Operands in(kind, state.range(0), state.range(1), state.range(2));
  struct Way {
    const char* name;
    void (Operands::*multiply)(float*);
    GrowingBuffer<float> out;
    double best = INFINITY;
  } ways[]{{"ours", &Operands::ours, {}},
           {"OpenBLAS", &Operands::in_openblas, {}},
           {"oneDNN", &Operands::in_onednn, {}}};
  for (Way& way : ways) {
    float* out = way.out.room(std::size_t(in.size()));
    std::fill_n(out, in.size(), 0.0f);
    (in.*way.multiply)(out);
    const float tolerance = 1e-6f * float(state.range(1) + 10);
    for (std::int64_t i = 0; i < in.size(); ++i)
      if (!(std::abs(out[i] - ways[0].out.room(0)[i]) <= tolerance))
        return state.SkipWithError("the product is wrong");
  }
  for (auto _ : state) {
    for (Way& way : ways) {
      const double start = bench::cpu_ms();
      (in.*way.multiply)(way.out.room(0));
      way.best = std::min(way.best, bench::cpu_ms() - start);
    }
    state.SetIterationTime(1e-3 * ways[0].best);
  }
  for (const Way& way : ways) state.counters[way.name] = 1e-6 * in.operations() / way.best;
}

BENCHMARK_CAPTURE(compare, forward, Kind::forward)
    ->UseManualTime()
    ->Args({25, 392, 200})
    ->Args({25, 2304, 200})
    ->Args({100, 784, 200});
BENCHMARK_CAPTURE(compare, back, Kind::back)
    ->UseManualTime()
    ->Args({260, 392, 200})
    ->Args({500, 200, 200})
    ->Args({150, 2304, 200})
    ->Args({1250, 784, 1024})
    ->Args({1250, 1024, 1024});
BENCHMARK_CAPTURE(compare, outer, Kind::outer)
    ->UseManualTime()
    ->Args({392, 25, 200})
    ->Args({784, 25, 200})
    ->Args({2304, 25, 200})
    ->Args({784, 25, 1024});

}  // namespace
}  // namespace sfnn

BENCHMARK_MAIN();
