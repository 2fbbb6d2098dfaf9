// Operands of the products in another form: the rows of a set copied together, and floats split
// into three bf16 parts.
#pragma once

#include "kernels/args.hpp"
#include "kernels/bf16.hpp"
#include "kernels/warp.cuh"

namespace sfnn {

// to[k] = from[rows.source(k)]. One warp per row.
template <class T>
__global__ void __launch_bounds__(kThreads, kMinBlocks)
    gather_rows_kernel(const T* __restrict__ from, const RowSet rows, std::int64_t cols,
                       T* __restrict__ to) {
  for (std::int64_t k = first_row(); k < rows.count; k += row_stride()) {
    const T* source = from + rows.source(k) * cols;
    for (std::int64_t i = lane_of_thread(); i < cols; i += kWarp) to[k * cols + i] = source[i];
  }
}

// from[e] = parts[e] + parts[stride + e] + parts[2*stride + e], largest first. One thread per
// element.
__global__ void __launch_bounds__(kThreads, kMinBlocks)
    split_bf16_kernel(const float* __restrict__ from, std::int64_t size, Bf16* __restrict__ parts,
                      std::int64_t stride) {
  for (std::int64_t e = first_element(); e < size; e += element_stride()) {
    const Bf16Parts split = split_at(from[e]);
    for (int k = 0; k < 3; ++k) parts[k * stride + e] = split.part[k];
  }
}

}  // namespace sfnn
