// Eq. (2) (3) (15) (16), Gaussians and counts on the device: log P(y|o), its gradient, and the mean
// output. One warp per row; softmax's log-sum-exp over the row uses shuffles, and the
// second read of the row comes from the cache.
#pragma once

#include "kernels/args.hpp"
#include "kernels/output.hpp"
#include "kernels/warp.cuh"

namespace sfnn {

// The row's log-sum-exp if the output distribution has one; the same in every lane.
__device__ inline float normalizer(const OutputOperands& p, const float* o) {
  if (!has_class_target(p.output)) return 0.0f;
  LogSumExp<float> lse;
  for (std::int64_t i = lane_of_thread(); i < p.o.cols; i += kWarp) lse.add(o[i] + p.c[i]);
  return warp_merge(lse).value();
}

__device__ inline const float* target_row(const OutputOperands& p, std::int64_t r) {
  return p.y.row(r / p.tile.M);
}

// log_w[r] = log P(y | o[r])
__global__ void __launch_bounds__(kThreads, kMinBlocks)
    output_log_prob_kernel(const OutputOperands p, float* __restrict__ log_w) {
  for (std::int64_t r = first_row(); r < p.o.rows; r += row_stride()) {
    const float* o = p.o.row(r);
    const float* y = target_row(p, r);
    const float lse = normalizer(p, o);
    float sum = 0;
    for (std::int64_t i = lane_of_thread(); i < p.D_out(); i += kWarp)
      sum += log_prob_at(p.output, o[i] + p.c[i], target_at(p.output, y, i), p.deviation(o, i));
    sum = warp_sum(sum);
    if (lane_of_thread() == 0) log_w[r] = sum - lse + p.scale.log_jacobian;
  }
}

// g_o[k] = weights[r] * d log P / d o[r] for row r = rows.source(k), and g_scale[k] the same by
// rho. The score of rho goes to a second logit, to rho's own column, or to the row's sum.
__global__ void __launch_bounds__(kThreads, kMinBlocks)
    output_grad_kernel(const OutputOperands p, const float* __restrict__ weights, const RowSet rows,
                       const Matrix g_o, const Matrix g_scale) {
  const std::int64_t D = p.D_out();
  for (std::int64_t k = first_row(); k < rows.count; k += row_stride()) {
    const std::int64_t r = rows.source(k);
    const float* o = p.o.row(r);
    const float* y = target_row(p, r);
    const float lse = normalizer(p, o), weight = weights[r];
    float sum = 0;
    for (std::int64_t i = lane_of_thread(); i < D; i += kWarp) {
      const float logit = o[i] + p.c[i], t = target_at(p.output, y, i);
      const Deviation<float> deviation = p.deviation(o, i);
      g_o.row(k)[i] = weight * output_score_at(p.output, logit, t, lse, deviation);
      switch (p.output) {
        case Output::gaussian_learnt:
          sum += scale_score_at(logit, t, deviation);
          break;
        case Output::gaussian_each:
          g_scale.row(k)[i] = weight * scale_score_at(logit, t, deviation);
          break;
        case Output::gaussian_predicted:
          g_o.row(k)[D + i] = weight * scale_score_at(logit, t, deviation);
          break;
        case Output::softmax:
        case Output::bernoulli:
        case Output::gaussian:
        case Output::poisson:
          break;  // no rho
      }
    }
    if (p.output != Output::gaussian_learnt) continue;
    sum = warp_sum(sum);
    if (lane_of_thread() == 0) g_scale.row(k)[0] = weight * sum;
  }
}

// mean[n] += sum over the rows of example n of E[y | o]. One warp per group of columns; softmax's
// normalizer is computed again for each group: classes are few.
__global__ void __launch_bounds__(kThreads, kMinBlocks)
    accumulate_mean_output_kernel(const OutputOperands p, const Matrix mean) {
  const std::int64_t D = p.D_out(), groups = column_groups(D);
  for (std::int64_t item = first_row(); item < p.tile.N * groups; item += row_stride()) {
    const std::int64_t n = item / groups, i = (item - n * groups) * kWarp + lane_of_thread();
    float sum = 0;
    for (std::int64_t m = 0; m < p.tile.M; ++m) {
      const float* o = p.o.row(n * p.tile.M + m);
      const float lse = normalizer(p, o);
      if (i < D) sum += output_mean_at(p.output, o[i] + p.c[i], lse);
    }
    if (i < D) mean.row(n)[i] += sum;
  }
}

}  // namespace sfnn
