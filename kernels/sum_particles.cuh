// out[n] = sum of the rows of g that belong to example n, in ascending order. One warp per example
// and group of columns; g is read once.
#pragma once

#include "kernels/args.hpp"
#include "kernels/warp.cuh"

namespace sfnn {

// The first entry of the ascending rows.index that is not below `row`; if all rows are there, row
// itself.
__device__ inline std::int64_t lower_bound(const RowSet& rows, std::int64_t row) {
  if (rows.all()) return row;
  std::int64_t low = 0, high = rows.count;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (rows.index[middle] < row) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

__global__ void __launch_bounds__(kThreads, kMinBlocks)
    sum_particles_kernel(const Tile tile, const RowSet rows, const ConstMatrix g,
                         const Matrix out) {
  const std::int64_t groups = column_groups(g.cols);
  for (std::int64_t item = first_row(); item < tile.N * groups; item += row_stride()) {
    const std::int64_t n = item / groups, i = (item - n * groups) * kWarp + lane_of_thread();
    if (i >= g.cols) continue;
    const std::int64_t end = lower_bound(rows, (n + 1) * tile.M);
    float sum = 0;
    for (std::int64_t k = lower_bound(rows, n * tile.M); k < end; ++k) sum += g.row(k)[i];
    out.row(n)[i] = sum;
  }
}

}  // namespace sfnn
