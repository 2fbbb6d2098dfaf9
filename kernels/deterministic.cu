#include "kernels/deterministic.cuh"
#include "kernels/launch.cuh"

namespace sfnn {

cudaError_t launch_activate(const Tile& tile, ConstMatrix shared, const float* b, Matrix d,
                            const Queue& q) {
  if (d.size() == 0) return cudaSuccess;
  activate_kernel<<<grid_of_warps(d.rows, q), kThreads, 0, q.stream>>>(tile, shared, b, d);
  return cudaGetLastError();
}

cudaError_t launch_deterministic_grad(ConstMatrix d, RowSet rows, Matrix g, const Queue& q) {
  if (g.size() == 0) return cudaSuccess;
  deterministic_grad_kernel<<<grid_of_warps(g.rows, q), kThreads, 0, q.stream>>>(d, rows, g);
  return cudaGetLastError();
}

}  // namespace sfnn
