#include "kernels/launch.cuh"
#include "kernels/sample_hidden.cuh"

namespace sfnn {

cudaError_t launch_sample_hidden(const SampleHiddenArgs& p, UnitType type, const Clock* clock,
                                 const Queue& q) {
  const std::int64_t rows = p.tile.rows();
  if (rows * p.s.cols == 0) return cudaSuccess;
  if (type == UnitType::f32) {
    sample_hidden_kernel<float><<<grid_of_warps(rows, q), kThreads, 0, q.stream>>>(p, clock);
  } else {
    sample_hidden_kernel<Bf16><<<grid_of_warps(rows, q), kThreads, 0, q.stream>>>(p, clock);
  }
  return cudaGetLastError();
}

}  // namespace sfnn
