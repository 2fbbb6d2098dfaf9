// Deterministic units: d = activation(z W_d + s U + b), and their gradient.
// One warp per row; in place, one read and one write per element.
#pragma once

#include "kernels/activations.hpp"
#include "kernels/args.hpp"
#include "kernels/warp.cuh"

namespace sfnn {

// p.shared: the part that the particles of an example have in common, or null data.
__global__ void __launch_bounds__(kThreads, kMinBlocks) activate_kernel(const ActivateArgs p) {
  for (std::int64_t r = first_row(); r < p.d.rows; r += row_stride()) {
    const float* add = p.shared.data ? p.shared.row(p.tile.row_in(p.shared.rows, r)) : nullptr;
    float* value = p.d.row(r);
    for (std::int64_t i = lane_of_thread(); i < p.d.cols; i += kWarp)
      value[i] = activation_at(p.activation, value[i] + p.b[i] + (add ? add[i] : 0.0f));
  }
}

__global__ void __launch_bounds__(kThreads, kMinBlocks)
    deterministic_grad_kernel(const DeterministicGradArgs p) {
  for (std::int64_t k = first_row(); k < p.g.rows; k += row_stride()) {
    const float* value = p.d.row(p.rows.source(k));
    float* gradient = p.g.row(k);
    for (std::int64_t i = lane_of_thread(); i < p.g.cols; i += kWarp)
      gradient[i] *= slope_at(p.activation, value[i]);
  }
}

}  // namespace sfnn
