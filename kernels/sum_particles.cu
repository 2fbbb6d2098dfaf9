#include "kernels/launch.cuh"
#include "kernels/sum_particles.cuh"

namespace sfnn {

cudaError_t launch_sum_particles(const SumParticlesArgs& p, const Queue& q) {
  const std::int64_t items = p.tile.N * column_groups(p.g.cols);
  if (items == 0) return cudaSuccess;
  sum_particles_kernel<<<grid_of_warps(items, q), kThreads, 0, q.stream>>>(p.tile, p.rows, p.g,
                                                                           p.out);
  return cudaGetLastError();
}

}  // namespace sfnn
