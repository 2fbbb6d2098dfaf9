// The dense products of a step in another library, at the end of a pipe: dense_floor
// openblas|onednn. Threads and kernels are the environment's to say. Each line of input is a
// question, each line of output its answer:
//
//   layer ROWS INPUTS UNITS TRAIN BACK   ready: its products are added to the list
//   time COUNT wall|cpu                  milliseconds of the fastest of COUNT runs of the list
#include <cblas.h>
#include <dnnl.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "bench/lib/clock.hpp"
#include "host/devices/registry.hpp"

namespace sfnn::bench {
namespace {

// out [rows, cols] = A B, each operand possibly stored transposed
struct Product {
  bool transpose_a, transpose_b;
  std::int64_t rows, cols, inner;
  const float *a, *b;
  float* out;

  std::int64_t a_stride() const { return transpose_a ? rows : inner; }
  std::int64_t b_stride() const { return transpose_b ? inner : cols; }
};

void in_openblas(const Product& p) {
  cblas_sgemm(CblasRowMajor, p.transpose_a ? CblasTrans : CblasNoTrans,
              p.transpose_b ? CblasTrans : CblasNoTrans, int(p.rows), int(p.cols), int(p.inner),
              1.0f, p.a, int(p.a_stride()), p.b, int(p.b_stride()), 0.0f, p.out, int(p.cols));
}

void in_onednn(const Product& p) {
  dnnl_sgemm(p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', p.rows, p.cols, p.inner, 1.0f,
             p.a, p.a_stride(), p.b, p.b_stride(), 0.0f, p.out, p.cols);
}

class Floor {
 public:
  explicit Floor(void (*multiply)(const Product&)) : multiply_(multiply) {}

  void add_layer(std::int64_t rows, std::int64_t in, std::int64_t out, bool train, bool back) {
    float *z = operand(rows * in), *W = operand(in * out), *a = operand(rows * out);
    products_.push_back({false, false, rows, out, in, z, W, a});
    if (train) products_.push_back({true, false, in, out, rows, z, a, operand(in * out)});
    if (back) products_.push_back({false, true, rows, in, out, a, W, operand(rows * in)});
  }
  double best_ms(int count, double (*clock)()) const {
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i < count; ++i) {
      const double start = clock();
      for (const Product& product : products_) multiply_(product);
      best = std::min(best, clock() - start);
    }
    return best;
  }

 private:
  float* operand(std::int64_t floats) {
    storage_.emplace_back(*memory_, std::size_t(floats) * sizeof(float));
    std::fill_n(storage_.back().floats(), floats, 0.5f);
    return storage_.back().floats();
  }

  void (*multiply_)(const Product&);
  // Memory such as ours: aligned to cache lines, and in huge pages if there are any.
  std::unique_ptr<Backend> memory_ = make_backend({.device = "cpu", .threads = 1});
  std::vector<Buffer> storage_;
  std::vector<Product> products_;
};

void answer_questions(Floor floor) {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string question, clock;
    words >> question;
    if (question == "layer") {
      std::int64_t rows = 0, in = 0, out = 0;
      bool train = false, back = false;
      words >> rows >> in >> out >> train >> back;
      floor.add_layer(rows, in, out, train, back);
      std::cout << "ready" << std::endl;
    } else {
      int count = 1;
      words >> count >> clock;
      std::cout << floor.best_ms(count, clock == "cpu" ? cpu_ms : wall_ms) << std::endl;
    }
  }
}

}  // namespace
}  // namespace sfnn::bench

int main(int argc, char** argv) {
  using namespace sfnn::bench;
  const std::string library = argc == 2 ? argv[1] : "";
  if (library != "openblas" && library != "onednn") {
    std::cerr << "dense_floor: takes openblas or onednn\n";
    return 2;
  }
  answer_questions(Floor(library == "openblas" ? in_openblas : in_onednn));
}
