// g_a of a layer's stochastic units: see PathGradArgs and ScoreGradArgs for shapes,
// kernels/hidden_grad.hpp for the arithmetic.
#pragma once

#include "kernels/activations.hpp"
#include "kernels/args.hpp"
#include "kernels/baseline.hpp"
#include "kernels/bf16.hpp"
#include "kernels/hidden_grad.hpp"
#include "kernels/philox.hpp"
#include "kernels/warp.cuh"

namespace sfnn {

// In place: g *= e. One warp per row of g. The rule is known to the compiler, so that G3 pays for
// no draw.
template <PathRule kRule, class Unit>
__global__ void __launch_bounds__(kThreads, kMinBlocks)
    path_grad_kernel(const PathGradArgs p, const Clock* __restrict__ clock) {
  const Unit* h = reinterpret_cast<const Unit*>(p.s.data);
  const bool by_example = p.by_example();
  for (std::int64_t k = first_row(); k < p.g.rows; k += row_stride()) {
    const std::int64_t r = p.rows.source(k);
    const float* a = p.a.row(by_example ? k : p.tile.row_in(p.a.rows, r));
    float* g = p.g.row(k);
    for (std::int64_t i = lane_of_thread(); i < p.g.cols; i += kWarp) {
      PathUnit<float> unit{a[i] + p.b[i]};
      if constexpr (reads_draw(kRule)) {
        const DrawingRow row = drawing_row(p.tile, p.draw, r);
        const DrawKey key{p.draw.seed, clock->step, p.draw.site};
        unit.h = load_unit(h[r * p.g.cols + i]);
        unit.u = uniform(key, row.example, row.particle, i);
      }
      g[i] *= path_weight(kRule, unit, p.T);
    }
  }
}

__device__ inline float beta_of_unit(const ScoreGradArgs& p, std::int64_t i) {
  return p.beta ? p.beta[i] : 0.0f;
}

// One row per particle: g = (omega - beta) (h - p). One warp per row of g.
template <class Unit>
__global__ void __launch_bounds__(kThreads, kMinBlocks) score_grad_kernel(const ScoreGradArgs p) {
  const Unit* h = reinterpret_cast<const Unit*>(p.s.data);
  const std::int64_t H = p.a.cols;
  for (std::int64_t k = first_row(); k < p.g.rows; k += row_stride()) {
    const std::int64_t r = p.rows.source(k);
    const float omega = p.omega[r];
    for (std::int64_t i = lane_of_thread(); i < H; i += kWarp) {
      const float score = load_unit(h[r * H + i]) - sigmoid(p.a.row(r)[i] + p.b[i]);
      p.g.row(k)[i] = (omega - beta_of_unit(p, i)) * score;
    }
  }
}

// If the particles of an example share a: their sum, [N, n_s]. One warp per example and group of
// columns; h is read once.
template <class Unit>
__global__ void __launch_bounds__(kThreads, kMinBlocks)
    summed_score_grad_kernel(const ScoreGradArgs p) {
  const Unit* h = reinterpret_cast<const Unit*>(p.s.data);
  const std::int64_t H = p.a.cols, M = p.tile.M, groups = column_groups(H);
  for (std::int64_t item = first_row(); item < p.tile.N * groups; item += row_stride()) {
    const std::int64_t n = item / groups, i = (item - n * groups) * kWarp + lane_of_thread();
    if (i >= H) continue;
    ScoreSums<float> sums;
    float omega_sum = 0;
    for (std::int64_t r = n * M; r < (n + 1) * M; ++r) {
      const float omega = p.omega[r];
      const float unit = load_unit(h[r * H + i]);
      omega_sum += omega;
      sums.omega_h += omega * unit;
      sums.h += unit;
    }
    p.g.row(n)[i] = summed_score(sums, omega_sum, beta_of_unit(p, i),
                                 sigmoid(p.a.row(n)[i] + p.b[i]), float(M));
  }
}

// g += omega_R (h - sigma(r)), summed over particles if they share a. One warp per row of g and
// group of columns. A kernel of its own: in the two above it would cost registers that only it
// needs.
template <class Unit>
__global__ void __launch_bounds__(kThreads, kMinBlocks)
    add_proposal_scores_kernel(const ScoreGradArgs p) {
  const std::int64_t H = p.a.cols, groups = column_groups(H);
  const int of_row = p.a.rows == p.tile.N ? int(p.tile.M) : 1;
  for (std::int64_t item = first_row(); item < p.g.rows * groups; item += row_stride()) {
    const std::int64_t k = item / groups, i = (item - k * groups) * kWarp + lane_of_thread();
    if (i >= H) continue;
    const std::int64_t first = p.rows.source(k) * of_row;
    const Unit* unit = reinterpret_cast<const Unit*>(p.s.data) + first * H + i;
    const float* omega = p.omega_R + first;
    const float probability =
        sigmoid(p.a.row(p.rows.source(k))[i] + p.b[i] + p.R.at(first / p.tile.M, i));
    float sum = 0;
    for (int m = 0; m < of_row; ++m, unit += H) sum += omega[m] * (load_unit(*unit) - probability);
    p.g.row(k)[i] += sum;
  }
}

// beta = L_bar. One thread per unit.
__global__ void __launch_bounds__(kThreads, kMinBlocks) make_beta_kernel(const MakeBetaArgs p) {
  for (std::int64_t i = first_element(); i < p.n_s; i += element_stride())
    p.beta[i] = baseline_at(p.averages[i], p.averages[p.n_s + i]);
}

}  // namespace sfnn
