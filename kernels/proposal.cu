#include "kernels/launch.cuh"
#include "kernels/proposal.cuh"

namespace sfnn {
namespace {

template <class Unit>
void launch_proposal_grad(const ProposalGradArgs& p, unsigned grid, const Queue& q) {
  if (!p.a.data || p.a.rows == p.tile.N) {
    proposal_grad_kernel<Unit, true><<<grid, kThreads, 0, q.stream>>>(p);
  } else {
    proposal_grad_kernel<Unit, false><<<grid, kThreads, 0, q.stream>>>(p);
  }
}

}  // namespace

cudaError_t launch_join_target(const JoinTargetArgs& p, const Queue& q) {
  if (p.out.size() == 0) return cudaSuccess;
  join_target_kernel<<<grid_of_warps(p.out.rows, q), kThreads, 0, q.stream>>>(p);
  return cudaGetLastError();
}

cudaError_t launch_log_ratio(const LogRatioArgs& p, UnitType type, const Queue& q) {
  const std::int64_t rows = p.tile.rows();
  if (rows == 0) return cudaSuccess;
  if (type == UnitType::f32) {
    log_ratio_kernel<float><<<grid_of_warps(rows, q), kThreads, 0, q.stream>>>(p);
  } else {
    log_ratio_kernel<Bf16><<<grid_of_warps(rows, q), kThreads, 0, q.stream>>>(p);
  }
  return cudaGetLastError();
}

cudaError_t launch_proposal_weights(const ProposalWeightsArgs& p, const Queue& q) {
  if (p.tile.rows() == 0) return cudaSuccess;
  proposal_weights_kernel<<<grid_of_threads(p.tile.rows(), q), kThreads, 0, q.stream>>>(p);
  return cudaGetLastError();
}

cudaError_t launch_proposal_grad(const ProposalGradArgs& p, UnitType type, const Queue& q) {
  const std::int64_t items = p.tile.N * column_groups(p.s.cols);
  if (items == 0) return cudaSuccess;
  if (type == UnitType::f32) {
    launch_proposal_grad<float>(p, grid_of_warps(items, q), q);
  } else {
    launch_proposal_grad<Bf16>(p, grid_of_warps(items, q), q);
  }
  return cudaGetLastError();
}

}  // namespace sfnn
