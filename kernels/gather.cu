#include "kernels/gather.cuh"
#include "kernels/launch.cuh"

namespace sfnn {

cudaError_t launch_gather(const GatherArgs& p, const Clock* clock, const Queue& q) {
  if (p.tile.N * p.data.cols == 0) return cudaSuccess;
  gather_kernel<<<grid_of_warps(p.tile.N, q), kThreads, 0, q.stream>>>(p, clock);
  return cudaGetLastError();
}

}  // namespace sfnn
