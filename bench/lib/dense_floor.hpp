// F: the dense products of a plain implementation's step in OpenBLAS, everything else free.
#pragma once

#include <memory>
#include <vector>

#include "bench/lib/workloads.hpp"
#include "host/backend/backend.hpp"
#include "host/devices/registry.hpp"

namespace sfnn::bench {

// Forward, weight gradient and back-propagated gradient of every layer on N*M rows; the first
// layer's forward and weight gradient on N rows, none back to x. Evaluation: forward only. The list
// is the same for every estimator.
class DenseFloor {
 public:
  explicit DenseFloor(const Workload&);
  void run(int threads);  // all products once
  double operations() const;

 private:
  struct Product {
    bool transpose_a, transpose_b;
    int rows, cols, inner;
    float *a, *b, *c;
  };
  float* operand(std::size_t floats);
  void add_layer(std::int64_t rows, std::int64_t in, std::int64_t out, bool first, bool backward);

  // Memory such as ours: aligned to cache lines, and in huge pages if there are any.
  std::unique_ptr<Backend> memory_ = make_backend({.device = "cpu", .threads = 1});
  std::vector<Buffer> storage_;
  std::vector<Product> products_;
};

}  // namespace sfnn::bench
