#include "kernels/launch.cuh"
#include "kernels/operands.cuh"

namespace sfnn {
namespace {

template <class T>
cudaError_t gather_rows(const T* from, RowSet rows, std::int64_t cols, T* to, const Queue& q) {
  if (rows.count * cols == 0) return cudaSuccess;
  gather_rows_kernel<<<grid_of_warps(rows.count, q), kThreads, 0, q.stream>>>(from, rows, cols, to);
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_gather_rows(const float* from, RowSet rows, std::int64_t cols, float* to,
                               const Queue& q) {
  return gather_rows(from, rows, cols, to, q);
}

cudaError_t launch_gather_rows(const Bf16* from, RowSet rows, std::int64_t cols, Bf16* to,
                               const Queue& q) {
  return gather_rows(from, rows, cols, to, q);
}

cudaError_t launch_split_bf16(const float* from, std::int64_t size, Bf16* parts,
                              std::int64_t stride, const Queue& q) {
  if (size == 0) return cudaSuccess;
  split_bf16_kernel<<<grid_of_threads(size, q), kThreads, 0, q.stream>>>(from, size, parts, stride);
  return cudaGetLastError();
}

}  // namespace sfnn
