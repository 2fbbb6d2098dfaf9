#include "kernels/deterministic.cuh"
#include "kernels/launch.cuh"

namespace sfnn {

cudaError_t launch_activate(const ActivateArgs& p, const Queue& q) {
  if (p.d.size() == 0) return cudaSuccess;
  activate_kernel<<<grid_of_warps(p.d.rows, q), kThreads, 0, q.stream>>>(p);
  return cudaGetLastError();
}

cudaError_t launch_deterministic_grad(const DeterministicGradArgs& p, const Queue& q) {
  if (p.g.size() == 0) return cudaSuccess;
  deterministic_grad_kernel<<<grid_of_warps(p.g.rows, q), kThreads, 0, q.stream>>>(p);
  return cudaGetLastError();
}

}  // namespace sfnn
