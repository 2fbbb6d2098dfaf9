#include "kernels/launch.cuh"
#include "kernels/output.cuh"

namespace sfnn {

cudaError_t launch_output_log_prob(const OutputLogProbArgs& p, const Queue& q) {
  if (p.of.o.rows == 0) return cudaSuccess;
  output_log_prob_kernel<<<grid_of_warps(p.of.o.rows, q), kThreads, 0, q.stream>>>(p.of, p.log_w);
  return cudaGetLastError();
}

cudaError_t launch_output_grad(const OutputGradArgs& p, const Queue& q) {
  if (p.rows.count == 0) return cudaSuccess;
  output_grad_kernel<<<grid_of_warps(p.rows.count, q), kThreads, 0, q.stream>>>(
      p.of, p.weight, p.rows, p.g_o, p.g_scale);
  return cudaGetLastError();
}

cudaError_t launch_accumulate_mean_output(const AccumulateMeanOutputArgs& p, const Queue& q) {
  const std::int64_t items = p.of.tile.N * column_groups(p.of.D_out());
  if (items == 0) return cudaSuccess;
  accumulate_mean_output_kernel<<<grid_of_warps(items, q), kThreads, 0, q.stream>>>(p.of, p.mean);
  return cudaGetLastError();
}

}  // namespace sfnn
