#include "kernels/hidden_grad.cuh"
#include "kernels/launch.cuh"

namespace sfnn {
namespace {

template <class Unit>
void launch_score_grad(const ScoreGradArgs& p, const Queue& q) {
  if (p.a.rows == p.tile.N) {
    const std::int64_t items = p.tile.N * column_groups(p.g.cols);
    summed_score_grad_kernel<Unit><<<grid_of_warps(items, q), kThreads, 0, q.stream>>>(p);
  } else {
    score_grad_kernel<Unit><<<grid_of_warps(p.g.rows, q), kThreads, 0, q.stream>>>(p);
  }
  if (!p.omega_R) return;
  const std::int64_t items = p.g.rows * column_groups(p.g.cols);
  add_proposal_scores_kernel<Unit><<<grid_of_warps(items, q), kThreads, 0, q.stream>>>(p);
}

template <PathRule kRule>
cudaError_t launch_path_rule(const PathGradArgs& p, UnitType type, const Clock* clock,
                             const Queue& q) {
  const int grid = grid_of_warps(p.g.rows, q);
  if (!reads_draw(kRule) || type == UnitType::f32) {
    path_grad_kernel<kRule, float><<<grid, kThreads, 0, q.stream>>>(p, clock);
  } else {
    path_grad_kernel<kRule, Bf16><<<grid, kThreads, 0, q.stream>>>(p, clock);
  }
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_path_grad(const PathGradArgs& p, UnitType type, const Clock* clock,
                             const Queue& q) {
  if (p.g.size() == 0) return cudaSuccess;
  switch (p.rule) {
    case PathRule::one:
      return cudaSuccess;  // g_a = G(h), unchanged
    case PathRule::sigmoid_slope:
      return launch_path_rule<PathRule::sigmoid_slope>(p, type, clock, q);
    case PathRule::half_score:
      return launch_path_rule<PathRule::half_score>(p, type, clock, q);
    case PathRule::gumbel_slope:
      return launch_path_rule<PathRule::gumbel_slope>(p, type, clock, q);
  }
  return cudaErrorInvalidValue;
}

cudaError_t launch_score_grad(const ScoreGradArgs& p, UnitType type, const Queue& q) {
  if (p.g.size() == 0) return cudaSuccess;
  if (type == UnitType::f32) {
    launch_score_grad<float>(p, q);
  } else {
    launch_score_grad<Bf16>(p, q);
  }
  return cudaGetLastError();
}

cudaError_t launch_make_beta(const MakeBetaArgs& p, const Queue& q) {
  if (p.n_s == 0) return cudaSuccess;
  make_beta_kernel<<<grid_of_threads(p.n_s, q), kThreads, 0, q.stream>>>(p);
  return cudaGetLastError();
}

}  // namespace sfnn
