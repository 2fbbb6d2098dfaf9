#include "kernels/launch.cuh"
#include "kernels/update.cuh"

namespace sfnn {
namespace {

unsigned grid_of_runs(std::int64_t size, const Queue& q) {
  return grid_for(square_runs(size), /*per_block=*/1, q.multiprocessors);
}

}  // namespace

cudaError_t find_kernels() {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, set_clock_kernel);
}

cudaError_t launch_set_clock(Clock* clock, const Clock& value, const Queue& q) {
  set_clock_kernel<<<1, 1, 0, q.stream>>>(clock, value);
  return cudaGetLastError();
}

cudaError_t launch_update(const UpdateArgs& p, const Clock* clock, const Queue& q) {
  if (p.size == 0) return cudaSuccess;
  update_kernel<<<grid_of_runs(p.size, q), kThreads, 0, q.stream>>>(p, clock);
  return cudaGetLastError();
}

cudaError_t launch_square_sums(const SquareSumsArgs& p, const Queue& q) {
  if (p.size == 0) return cudaSuccess;
  square_sums_kernel<<<grid_of_runs(p.size, q), kThreads, 0, q.stream>>>(p);
  return cudaGetLastError();
}

cudaError_t launch_gradient_norm(const GradientNormArgs& p, const Queue& q) {
  gradient_norm_kernel<<<1, kThreads, 0, q.stream>>>(p);
  return cudaGetLastError();
}

cudaError_t launch_update_baseline(const BaselineUpdateArgs& p, const Clock* clock,
                                   const Queue& q) {
  if (p.size == 0) return cudaSuccess;
  update_baseline_kernel<<<grid_of_threads(p.size, q), kThreads, 0, q.stream>>>(p, clock);
  return cudaGetLastError();
}

}  // namespace sfnn
