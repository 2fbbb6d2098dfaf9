// Eq. (6) (28): log_w [N, M] -> w_bar = softmax_m(log_w), C_hat = logsumexp_m(log_w) - log M and
// the effective particles 1 / sum_m w_bar^2; and the sums of the last two over the examples.
#pragma once

#include <cmath>

#include "kernels/args.hpp"
#include "kernels/particle_weights.hpp"
#include "kernels/warp.cuh"

namespace sfnn {

// One group per example: a warp for few particles, a block for many.
template <class Group>
__global__ void __launch_bounds__(kThreads, kMinBlocks)
    particle_weights_kernel(const ParticleWeightsArgs p) {
  constexpr int kGroupsPerBlock = kThreads / Group::kSize;
  const std::int64_t M = p.tile.M;
  const std::int64_t stride = std::int64_t(gridDim.x) * kGroupsPerBlock;
  for (std::int64_t n = std::int64_t(blockIdx.x) * kGroupsPerBlock + threadIdx.x / Group::kSize;
       n < p.tile.N; n += stride) {
    const float* log_w = p.log_w + n * M;
    LogSumExp<float> lse;
    for (std::int64_t m = Group::rank(); m < M; m += Group::kSize) lse.add(log_w[m]);
    lse = Group::merge(lse);
    const float scale = 1.0f / lse.sum;
    float squares = 0;
    for (std::int64_t m = Group::rank(); m < M; m += Group::kSize) {
      const float w = std::exp(log_w[m] - lse.max) * scale;
      p.w_bar[n * M + m] = w;
      squares += w * w;
    }
    squares = Group::sum(squares);
    const float C_hat = lse.value() - std::log(float(M));
    if (p.omega_rule != OmegaRule::none && p.omega != p.w_bar) {
      ParticleRow<float> row{float(M), C_hat, lse};
      if (compares_particles(p.omega_rule)) {
        for (std::int64_t m = Group::rank(); m < M; m += Group::kSize) row.add(log_w[m]);
        row.lower = Group::merge(row.lower);
        row.highest = Group::sum(row.highest);
        row.sum = Group::sum(row.sum);
      }
      for (std::int64_t m = Group::rank(); m < M; m += Group::kSize)
        p.omega[n * M + m] = omega_at(p.omega_rule, row, log_w[m], p.w_bar[n * M + m]);
    }
    if (Group::rank() == 0) {
      p.C_hat[n] = C_hat;
      p.ess[n] = 1.0f / squares;
    }
  }
}

// sums += {sum C_hat, sum ess}, in double. One block: a batch has few examples.
__global__ void __launch_bounds__(kThreads)
    accumulate_metrics_kernel(std::int64_t N, const float* __restrict__ C_hat,
                              const float* __restrict__ ess, double* __restrict__ sums) {
  double C_hat_sum = 0, ess_sum = 0;
  for (std::int64_t n = threadIdx.x; n < N; n += kThreads) {
    C_hat_sum += C_hat[n];
    ess_sum += ess[n];
  }
  C_hat_sum = BlockGroup::sum(C_hat_sum);
  ess_sum = BlockGroup::sum(ess_sum);
  if (threadIdx.x == 0) {
    sums[0] += C_hat_sum;
    sums[1] += ess_sum;
  }
}

}  // namespace sfnn
