#include "bench/lib/dense_floor.hpp"

#include <cblas.h>

#include <algorithm>
#include <cstddef>

namespace sfnn::bench {

DenseFloor::DenseFloor(const Workload& w) {
  const std::int64_t N = w.evaluation ? w.evaluated : w.options.batch;
  const std::int64_t M = w.evaluation ? 100 : w.options.particles;
  for (std::int64_t l = 0; l <= w.spec.depth(); ++l) {
    const std::int64_t in = w.spec.input_width(l);
    const std::int64_t out = l < w.spec.depth() ? w.spec.hidden[l].width() : w.spec.logits();
    add_layer(l == 0 ? N : N * M, in, out, l == 0, !w.evaluation);
  }
}

float* DenseFloor::operand(std::size_t floats) {
  storage_.emplace_back(*memory_, floats * sizeof(float));
  std::fill_n(storage_.back().floats(), floats, 0.5f);
  return storage_.back().floats();
}

void DenseFloor::add_layer(std::int64_t rows, std::int64_t in, std::int64_t out, bool first,
                           bool backward) {
  float *z = operand(rows * in), *W = operand(in * out), *a = operand(rows * out);
  products_.push_back({false, false, int(rows), int(out), int(in), z, W, a});
  if (!backward) return;
  products_.push_back({true, false, int(in), int(out), int(rows), z, a, operand(in * out)});
  if (!first)
    products_.push_back({false, true, int(rows), int(in), int(out), a, W, operand(rows * in)});
}

double DenseFloor::operations() const {
  double sum = 0;
  for (const Product& p : products_) sum += 2.0 * p.rows * p.cols * p.inner;
  return sum;
}

void DenseFloor::run(int threads) {
  openblas_set_num_threads(threads);
  for (const Product& p : products_) {
    cblas_sgemm(CblasRowMajor, p.transpose_a ? CblasTrans : CblasNoTrans,
                p.transpose_b ? CblasTrans : CblasNoTrans, p.rows, p.cols, p.inner, 1.0f, p.a,
                p.transpose_a ? p.rows : p.inner, p.b, p.transpose_b ? p.inner : p.cols, 0.0f, p.c,
                p.cols);
  }
  openblas_set_num_threads(1);  // as the backend wants it
}

}  // namespace sfnn::bench
