#include "kernels/launch.cuh"
#include "kernels/output.cuh"

namespace sfnn {

cudaError_t launch_output_log_prob(const OutputArgs& p, float* log_w, const Queue& q) {
  if (p.o.rows == 0) return cudaSuccess;
  output_log_prob_kernel<<<grid_of_warps(p.o.rows, q), kThreads, 0, q.stream>>>(p, log_w);
  return cudaGetLastError();
}

cudaError_t launch_output_grad(const OutputArgs& p, const float* w_bar, RowSet rows, Matrix g_o,
                               const Queue& q) {
  if (rows.count == 0) return cudaSuccess;
  output_grad_kernel<<<grid_of_warps(rows.count, q), kThreads, 0, q.stream>>>(p, w_bar, rows, g_o);
  return cudaGetLastError();
}

cudaError_t launch_accumulate_mean_output(const OutputArgs& p, Matrix mean, const Queue& q) {
  const std::int64_t items = p.tile.N * column_groups(p.o.cols);
  if (items == 0) return cudaSuccess;
  accumulate_mean_output_kernel<<<grid_of_warps(items, q), kThreads, 0, q.stream>>>(p, mean);
  return cudaGetLastError();
}

}  // namespace sfnn
