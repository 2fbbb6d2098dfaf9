// Deterministic units: d = sigma(z W_d + s U + b), and their gradient g *= d (1 - d).
// One warp per row; in place, one read and one write per element.
#pragma once

#include "kernels/activations.hpp"
#include "kernels/args.hpp"
#include "kernels/warp.cuh"

namespace sfnn {

// shared: [N, n_d], the part that the particles of an example have in common, or null data.
__global__ void __launch_bounds__(kThreads, kMinBlocks)
    activate_kernel(const Tile tile, const ConstMatrix shared, const float* __restrict__ b,
                    const Matrix d) {
  for (std::int64_t r = first_row(); r < d.rows; r += row_stride()) {
    const float* add = shared.data ? shared.row(tile.row_in(shared.rows, r)) : nullptr;
    float* value = d.row(r);
    for (std::int64_t i = lane_of_thread(); i < d.cols; i += kWarp)
      value[i] = sigmoid(value[i] + b[i] + (add ? add[i] : 0.0f));
  }
}

__global__ void __launch_bounds__(kThreads, kMinBlocks)
    deterministic_grad_kernel(const ConstMatrix d, const RowSet rows, const Matrix g) {
  for (std::int64_t k = first_row(); k < g.rows; k += row_stride()) {
    const float* value = d.row(rows.source(k));
    float* gradient = g.row(k);
    for (std::int64_t i = lane_of_thread(); i < g.cols; i += kWarp)
      gradient[i] *= value[i] * (1 - value[i]);
  }
}

}  // namespace sfnn
