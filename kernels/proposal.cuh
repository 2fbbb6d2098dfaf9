// A learned proposal: what it reads, the particles' density ratios, and what its scores add up to.
// See kernels/proposal_args.hpp for shapes, kernels/proposal.hpp for the arithmetic.
#pragma once

#include "kernels/activations.hpp"
#include "kernels/args.hpp"
#include "kernels/bf16.hpp"
#include "kernels/proposal.hpp"
#include "kernels/warp.cuh"

namespace sfnn {

// One warp per example.
__global__ void __launch_bounds__(kThreads, kMinBlocks) join_target_kernel(const JoinTargetArgs p) {
  for (std::int64_t n = first_row(); n < p.out.rows; n += row_stride()) {
    for (std::int64_t i = lane_of_thread(); i < p.out.cols; i += kWarp)
      p.out.row(n)[i] =
          i < p.x.cols ? p.x.row(n)[i] : target_at(p.output, p.y.row(n), i - p.x.cols);
  }
}

// a + b of example n or particle row r; zero if there is no a.
template <class Args>
__device__ inline float logit_of_P(const Args& p, std::int64_t n, std::int64_t r, std::int64_t i) {
  return p.a.data ? p.a.row(p.a.rows == p.tile.N ? n : r)[i] + p.b[i] : 0.0f;
}

// One warp per particle row, even if particles share the softplus part: they would have to wait for
// it.
template <class Unit>
__global__ void __launch_bounds__(kThreads, kMinBlocks) log_ratio_kernel(const LogRatioArgs p) {
  const Unit* h = reinterpret_cast<const Unit*>(p.s.data);
  const std::int64_t H = p.s.cols;
  const float share_P = float(p.R.from_P) / float(p.tile.M);
  for (std::int64_t r = first_row(); r < p.tile.rows(); r += row_stride()) {
    const std::int64_t n = r / p.tile.M;
    float delta = 0;
    for (std::int64_t i = lane_of_thread(); i < H; i += kWarp)
      delta += log_ratio_at(logit_of_P(p, n, r, i), p.R.at(n, i), load_unit(h[r * H + i]));
    delta = warp_sum(delta);
    if (lane_of_thread() != 0) continue;
    if (p.write == Write::add) delta += p.log_ratio[r];
    p.log_ratio[r] = delta;
    if (p.log_w) p.log_w[r] += log_weight_of_ratio(delta, share_P);
  }
}

// One thread per particle row.
__global__ void __launch_bounds__(kThreads, kMinBlocks)
    proposal_weights_kernel(const ProposalWeightsArgs p) {
  for (std::int64_t r = first_element(); r < p.tile.rows(); r += element_stride())
    proposal_weights_at(p, r);
}

// One warp per example and group of columns; h is read once. shared: the particles share r.
template <class Unit, bool shared>
__global__ void __launch_bounds__(kThreads, kMinBlocks)
    proposal_grad_kernel(const ProposalGradArgs p) {
  const Unit* h = reinterpret_cast<const Unit*>(p.s.data);
  const std::int64_t H = p.s.cols, M = p.tile.M, groups = column_groups(H);
  for (std::int64_t item = first_row(); item < p.tile.N * groups; item += row_stride()) {
    const std::int64_t n = item / groups, i = (item - n * groups) * kWarp + lane_of_thread();
    if (i >= H) continue;
    const float e = p.R.at(n, i), p_of_all = shared ? sigmoid(logit_of_P(p, n, n, i) + e) : 0.0f;
    float sum = 0;
    for (std::int64_t r = n * M; r < (n + 1) * M; ++r) {
      const float probability = shared ? p_of_all : sigmoid(p.a.row(r)[i] + p.b[i] + e);
      sum += p.omega_R[r] * (load_unit(h[r * H + i]) - probability);
    }
    p.g_e.row(n)[p.R.first + i] = sum;
  }
}

}  // namespace sfnn
