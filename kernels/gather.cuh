// out[n, i] = x or y of the n-th example of the tile: see GatherArgs and gather_at.
// One warp per row; each stored value is read once, each out value written once.
#pragma once

#include "kernels/args.hpp"
#include "kernels/gather.hpp"
#include "kernels/warp.cuh"

namespace sfnn {

__global__ void __launch_bounds__(kThreads, kMinBlocks)
    gather_kernel(const GatherArgs p, const Clock* __restrict__ clock) {
  const DrawKey binarize{p.binarize_draw.seed, clock->step, p.binarize_draw.site};
  const DrawKey noise{p.noise_draw.seed, clock->step, p.noise_draw.site};
  for (std::int64_t n = first_row(); n < p.tile.N; n += row_stride()) {
    const std::int64_t position = clock->first + p.tile.first + n;
    const std::int64_t row = p.order ? p.order[position] : position;
    for (std::int64_t i = lane_of_thread(); i < p.data.cols; i += kWarp)
      p.out.row(n)[i] = gather_at(p, n, row, i, binarize, noise);
  }
}

}  // namespace sfnn
