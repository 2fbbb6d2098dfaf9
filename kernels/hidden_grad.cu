#include "kernels/hidden_grad.cuh"
#include "kernels/launch.cuh"

namespace sfnn {
namespace {

template <class Unit>
void launch_score_grad(const HiddenGradArgs& p, const Queue& q) {
  if (p.a.rows == p.tile.N) {
    const std::int64_t items = p.tile.N * column_groups(p.g.cols);
    summed_score_grad_kernel<Unit><<<grid_of_warps(items, q), kThreads, 0, q.stream>>>(p);
  } else {
    score_grad_kernel<Unit><<<grid_of_warps(p.g.rows, q), kThreads, 0, q.stream>>>(p);
  }
}

}  // namespace

cudaError_t launch_hidden_grad(const HiddenGradArgs& p, UnitType type, const Queue& q) {
  if (p.g.size() == 0) return cudaSuccess;
  if (p.estimator == Estimator::G2) return cudaSuccess;  // Eq. (19): g_a is G(h) as it stands
  if (p.estimator == Estimator::G3) {
    path_grad_kernel<<<grid_of_warps(p.g.rows, q), kThreads, 0, q.stream>>>(p);
  } else if (type == UnitType::f32) {
    launch_score_grad<float>(p, q);
  } else {
    launch_score_grad<Bf16>(p, q);
  }
  return cudaGetLastError();
}

}  // namespace sfnn
