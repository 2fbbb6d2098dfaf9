// The optimiser's step; the moving averages of Eq. (18); and the clock that both read. One thread
// per element; parts are added by the fixed tree.
#pragma once

#include "kernels/args.hpp"
#include "kernels/baseline.hpp"
#include "kernels/update.hpp"
#include "kernels/warp.cuh"

namespace sfnn {

// The clock lives in device memory, so that a captured step draws new numbers at each replay.
__global__ void set_clock_kernel(Clock* clock, const Clock value) { *clock = value; }

__global__ void __launch_bounds__(kThreads, kMinBlocks)
    update_kernel(const UpdateArgs p, const Clock* __restrict__ clock) {
  for (std::int64_t i = first_element(); i < p.size; i += element_stride())
    step_at(p, i, clock->learning_rate);
}

__global__ void __launch_bounds__(kThreads, kMinBlocks)
    update_baseline_kernel(const BaselineUpdateArgs p, const Clock* __restrict__ clock) {
  for (std::int64_t i = first_element(); i < p.size; i += element_stride()) {
    const float value = p.scale * part_sum(p.parts, i);
    p.averages[i] = moved_average(clock->step == 0, p.averages[i], value, p.decay);
  }
}

}  // namespace sfnn
