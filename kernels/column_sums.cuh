// Sums over the rows of a matrix, column by column, in an order that depends on the shape alone:
// bias gradients, and the sums behind G1's averages (Eq. 18).
//
// A block takes 32 columns and a run of rows, its warps take turns at the rows, and the warps' sums
// are added in their order. If there are many rows, the runs go to several blocks, and a second
// launch adds their sums [splits, cols] as if they were a matrix of few rows. No atomics.
#pragma once

#include "kernels/activations.hpp"
#include "kernels/args.hpp"
#include "kernels/bf16.hpp"
#include "kernels/column_splits.hpp"
#include "kernels/warp.cuh"

namespace sfnn {

constexpr int kColumnThreads = 512;
constexpr int kColumnMinBlocks = kResidentThreads / kColumnThreads;
constexpr int kColumnWarps = kColumnThreads / kWarp;

// Adds up `value` over the warps of the block, lane by lane. Valid in warp 0.
__device__ inline float sum_over_warps(float value) {
  __shared__ float of_warp[kColumnWarps][kWarp];
  of_warp[warp_of_thread()][lane_of_thread()] = value;
  __syncthreads();
  float total = 0;
  if (warp_of_thread() == 0)
    for (int w = 0; w < kColumnWarps; ++w) total += of_warp[w][lane_of_thread()];
  __syncthreads();  // before the next sum writes
  return total;
}

struct RowRun {
  std::int64_t begin, end;
};

__device__ inline RowRun rows_of_block(std::int64_t rows) {
  return {rows * blockIdx.y / gridDim.y, rows * (blockIdx.y + 1) / gridDim.y};
}

struct ColumnOutput {
  float* data;  // [gridDim.y, cols]
  bool add;     // to what is there
};

__device__ inline void write(const ColumnOutput& out, std::int64_t e, float sum) {
  out.data[e] = out.add ? out.data[e] + sum : sum;
}

// out = sum of the rows of g. Grid: x over groups of 32 columns, y over runs of rows.
__global__ void __launch_bounds__(kColumnThreads, kColumnMinBlocks)
    column_sums_kernel(const ConstMatrix g, const ColumnOutput out) {
  const RowRun run = rows_of_block(g.rows);
  const std::int64_t i = std::int64_t(blockIdx.x) * kWarp + lane_of_thread();
  float sum = 0;
  if (i < g.cols)
    for (std::int64_t r = run.begin + warp_of_thread(); r < run.end; r += kColumnWarps)
      sum += g.row(r)[i];
  sum = sum_over_warps(sum);
  if (warp_of_thread() == 0 && i < g.cols) write(out, blockIdx.y * g.cols + i, sum);
}

// out [2, n_s] = sums of score^2 and of score^2 C_hat over one run of rows; p.sums is not read.
// Grid as above.
template <class Unit>
__global__ void __launch_bounds__(kColumnThreads, kColumnMinBlocks)
    baseline_sums_kernel(const AccumulateBaselineArgs p, const ColumnOutput out) {
  const Unit* h = reinterpret_cast<const Unit*>(p.s.data);
  const std::int64_t H = p.s.cols;
  const RowRun run = rows_of_block(p.tile.rows());
  const std::int64_t i = std::int64_t(blockIdx.x) * kWarp + lane_of_thread();
  float score2 = 0, score2_L = 0;
  if (i < H) {
    const float b = p.b[i];
#pragma unroll 1  // the arithmetic hides the latency; unrolled, it would spill
    for (std::int64_t r = run.begin + warp_of_thread(); r < run.end; r += kColumnWarps) {
      const std::int64_t n = r / p.tile.M;
      const float* a = p.a.row(p.a.rows == p.tile.N ? n : r);
      const float score = load_unit(h[r * H + i]) - sigmoid(a[i] + b);
      score2 += score * score;
      score2_L += score * score * p.C_hat[n];
    }
  }
  score2 = sum_over_warps(score2);
  score2_L = sum_over_warps(score2_L);
  if (warp_of_thread() == 0 && i < H) {
    write(out, 2 * blockIdx.y * H + i, score2);
    write(out, 2 * blockIdx.y * H + H + i, score2_L);
  }
}

}  // namespace sfnn
