// Times on a GPU, by CUDA events, of work that has been checked against the plain CPU path first:
// a wrong kernel has no speed.
#pragma once

#include "bench/lib/counting_backend.hpp"
#include "bench/lib/op_cases.hpp"
#include "cuda/cuda_backend.hpp"
#include "host/train/trainer.hpp"

namespace sfnn::bench {

struct Repetitions {
  int rounds = 15, calls = 20;  // the median over rounds of the mean of a round's calls
};

// Milliseconds of one call. If the backend records steps, the calls of a round are one graph, so
// that the host's pace does not count.
double median_ms(CudaBackend&, const Repetitions&, FunctionRef<void()> work);

struct OpTime {
  double ms = 0, bytes = 0;
};
// Throws Error if the result is not the CPU's.
OpTime time_op(const OpCase&, CudaBackend&, Math, const Repetitions&);

// Throws Error if some steps on a small network do not end at the CPU's parameters.
void check_steps(CudaBackend&, Math);

// A training step of the network; the rate is zero, so that it stays the same step.
double step_ms(CudaBackend&, const NetworkSpec&, TrainOptions, const Repetitions&);

// The same step's products alone, one after another.
double products_ms(CudaBackend&, const NetworkSpec&, const TrainOptions&, const Repetitions&);

}  // namespace sfnn::bench
