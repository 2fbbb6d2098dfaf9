#include "kernels/launch.cuh"
#include "kernels/sum_particles.cuh"

namespace sfnn {

cudaError_t launch_sum_particles(const Tile& tile, RowSet rows, ConstMatrix g, Matrix out,
                                 const Queue& q) {
  const std::int64_t items = tile.N * column_groups(g.cols);
  if (items == 0) return cudaSuccess;
  sum_particles_kernel<<<grid_of_warps(items, q), kThreads, 0, q.stream>>>(tile, rows, g, out);
  return cudaGetLastError();
}

}  // namespace sfnn
