// The optimiser's step with the norm of its gradient; the moving averages of Eq. (18); and the
// clock that both read. One thread per element; parts are added by the fixed tree.
#pragma once

#include "kernels/args.hpp"
#include "kernels/baseline.hpp"
#include "kernels/update.hpp"
#include "kernels/warp.cuh"

namespace sfnn {

// The clock lives in device memory, so that a captured step draws new numbers at each replay.
__global__ void set_clock_kernel(Clock* clock, const Clock value) { *clock = value; }

// f(i) for the elements of a run of squares, and then the sum of what f returned. One block per
// run.
template <class F>
__device__ inline void for_square_runs(std::int64_t size, float* square_sums, const F& f) {
  for (std::int64_t run = blockIdx.x; run * kSquareRun < size; run += gridDim.x) {
    const std::int64_t whole = (run + 1) * kSquareRun, end = whole < size ? whole : size;
    float squares = 0;
    for (std::int64_t i = run * kSquareRun + threadIdx.x; i < end; i += kThreads) squares += f(i);
    if (square_sums == nullptr) continue;
    squares = BlockGroup::sum(squares);
    if (threadIdx.x == 0) square_sums[run] = squares;
  }
}

__global__ void __launch_bounds__(kThreads, kMinBlocks)
    update_kernel(const UpdateArgs p, const Clock* __restrict__ clock) {
  const Clock now = *clock;
  const float scale = gradient_scale(p);
  SegmentCursor segments(p);
  for_square_runs(p.size, p.square_sums, [&](std::int64_t i) {
    const float g = scale * part_sum(p.parts, i);
    step_at(p, segments.at(i), now, i, g);
    return g * g;
  });
}

__global__ void __launch_bounds__(kThreads, kMinBlocks) square_sums_kernel(const SquareSumsArgs p) {
  for_square_runs(p.size, p.square_sums, [&](std::int64_t i) {
    const float g = p.scale * part_sum(p.parts, i);
    return g * g;
  });
}

__global__ void __launch_bounds__(kThreads) gradient_norm_kernel(const GradientNormArgs p) {
  double squares = 0;
  for (std::int64_t run = threadIdx.x; run < p.count; run += kThreads)
    squares += p.square_sums[run];
  squares = BlockGroup::sum(squares);
  if (threadIdx.x == 0) leave_norm(p, sqrt(squares));
}

__global__ void __launch_bounds__(kThreads, kMinBlocks)
    update_baseline_kernel(const BaselineUpdateArgs p, const Clock* __restrict__ clock) {
  for (std::int64_t i = first_element(); i < p.size; i += element_stride()) {
    const float value = p.scale * part_sum(p.parts, i);
    p.averages[i] = moved_average(clock->step == 0, p.averages[i], value, p.decay);
  }
}

}  // namespace sfnn
