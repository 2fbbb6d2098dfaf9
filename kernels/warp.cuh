// How the kernels share out their work, and sums over a warp or a block in a fixed order.
//
// One warp per row of a matrix: lanes take neighbouring columns, so loads coalesce, sums over a row
// are shuffles, and the one 64-bit division (which example does row r belong to?) is made once per
// row.
#pragma once

#include <cstdint>

#include "kernels/grid.hpp"
#include "kernels/particle_weights.hpp"

namespace sfnn {

constexpr unsigned kAllLanes = 0xffffffffu;

__device__ inline int lane_of_thread() { return int(threadIdx.x) % kWarp; }
__device__ inline int warp_of_thread() { return int(threadIdx.x) / kWarp; }

// This warp's place among all warps of the grid; neighbours in a block work on neighbouring rows.
__device__ inline std::int64_t first_row() {
  return (std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / kWarp;
}
__device__ inline std::int64_t row_stride() { return std::int64_t(gridDim.x) * blockDim.x / kWarp; }

__device__ inline std::int64_t first_element() {
  return std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t element_stride() { return std::int64_t(gridDim.x) * blockDim.x; }

// Sums over the particles of an example: one warp per example and group of 32 columns.
SFNN_HD std::int64_t column_groups(std::int64_t cols) { return (cols + kWarp - 1) / kWarp; }

// Every lane gets the same result, to the last bit.
template <class Real>
__device__ inline Real warp_sum(Real value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(kAllLanes, value, distance);
  return value;
}

__device__ inline LogSumExp<float> warp_merge(LogSumExp<float> lse) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    LogSumExp<float> other;
    other.max = __shfl_xor_sync(kAllLanes, lse.max, distance);
    other.sum = __shfl_xor_sync(kAllLanes, lse.sum, distance);
    lse.merge(other);
  }
  return lse;
}

// Threads that work on one example together: a warp, or a block if there are many particles.
struct WarpGroup {
  static constexpr int kSize = kWarp;
  __device__ static int rank() { return lane_of_thread(); }
  __device__ static float sum(float value) { return warp_sum(value); }
  __device__ static LogSumExp<float> merge(const LogSumExp<float>& lse) { return warp_merge(lse); }
};

struct BlockGroup {
  static constexpr int kSize = kThreads;
  __device__ static int rank() { return int(threadIdx.x); }

  template <class Real>
  __device__ static Real sum(Real value) {
    __shared__ Real of_warp[kWarpsPerBlock];
    value = warp_sum(value);
    if (lane_of_thread() == 0) of_warp[warp_of_thread()] = value;
    __syncthreads();
    Real total = 0;
    for (int w = 0; w < kWarpsPerBlock; ++w) total += of_warp[w];
    __syncthreads();  // before the next sum writes
    return total;
  }

  __device__ static LogSumExp<float> merge(LogSumExp<float> lse) {
    __shared__ float max_of_warp[kWarpsPerBlock], sum_of_warp[kWarpsPerBlock];
    lse = warp_merge(lse);
    if (lane_of_thread() == 0) {
      max_of_warp[warp_of_thread()] = lse.max;
      sum_of_warp[warp_of_thread()] = lse.sum;
    }
    __syncthreads();
    LogSumExp<float> total;
    for (int w = 0; w < kWarpsPerBlock; ++w) {
      LogSumExp<float> other;
      other.max = max_of_warp[w];
      other.sum = sum_of_warp[w];
      total.merge(other);
    }
    __syncthreads();  // before the next merge writes
    return total;
  }
};

}  // namespace sfnn
