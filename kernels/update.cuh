// The step: v = momentum * v + scale * sum of parts, params += learning rate * v; the moving
// averages of Eq. (18); and the clock that both read. A thread an element, parts added in order.
#pragma once

#include "kernels/args.hpp"
#include "kernels/baseline.hpp"
#include "kernels/warp.cuh"

namespace sfnn {

// The clock lives in device memory, so that a captured step draws new numbers at each replay.
__global__ void set_clock_kernel(Clock* clock, const Clock value) { *clock = value; }

__device__ inline float sum_of_parts(const float* parts, std::int64_t count, std::int64_t stride,
                                     std::int64_t i) {
  float sum = 0;
  for (std::int64_t k = 0; k < count; ++k) sum += parts[k * stride + i];
  return sum;
}

__global__ void __launch_bounds__(kThreads, kMinBlocks)
    update_kernel(const UpdateArgs p, const Clock* __restrict__ clock) {
  for (std::int64_t i = first_element(); i < p.size; i += element_stride()) {
    const float sum = sum_of_parts(p.parts, p.part_count, p.part_stride, i);
    const float velocity = p.momentum * p.velocity[i] + p.scale * sum;
    p.velocity[i] = velocity;
    p.params[i] += clock->learning_rate * velocity;
  }
}

__global__ void __launch_bounds__(kThreads, kMinBlocks)
    update_baseline_kernel(const BaselineUpdateArgs p, const Clock* __restrict__ clock) {
  for (std::int64_t i = first_element(); i < p.size; i += element_stride()) {
    const float sum = sum_of_parts(p.parts, p.part_count, p.part_stride, i);
    p.averages[i] = moved_average(clock->step == 0, p.averages[i], p.scale * sum, p.decay);
  }
}

}  // namespace sfnn
