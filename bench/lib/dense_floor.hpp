// F: the dense products of a plain implementation's step in the fastest library at hand, everything
// else free. They run in a process of their own (bench/dense_floor.cpp): the threads of a library
// that spin after a product would take the cores from ours.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/lib/peers.hpp"
#include "bench/lib/workloads.hpp"

namespace sfnn::bench {

// Forward on `rows` rows; if `train`, the weight gradient; if `back`, the gradient of the inputs.
struct FloorLayer {
  std::int64_t rows, inputs, units;
  bool train, back;

  double operations() const {
    return 2.0 * double(rows * inputs * units) * (1 + int(train) + int(back));
  }
};

// Every layer on N*M rows; the first on N rows, and not back to x. Evaluation: forward only. The
// list is the same for every estimator.
std::vector<FloorLayer> floor_layers(const Workload&);
double operations(const std::vector<FloorLayer>&);

// The floor in each library that may be the fastest on this processor: OpenBLAS with the kernel
// that it chooses and with those that fit the instruction set, and oneDNN. All in fp32.
std::vector<std::unique_ptr<Peer>> floors(const Workload&, int threads);

}  // namespace sfnn::bench
