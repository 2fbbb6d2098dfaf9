#include "kernels/column_sums.cuh"
#include "kernels/launch.cuh"

namespace sfnn {
namespace {

dim3 column_grid(std::int64_t cols, std::int64_t splits) {
  return {unsigned(column_groups(cols)), unsigned(splits)};
}

// result += the sums of the splits, added in order.
cudaError_t add_splits(float* scratch, std::int64_t splits, std::int64_t width, float* result,
                       const Queue& q) {
  if (splits == 1) return cudaGetLastError();
  column_sums_kernel<<<column_grid(width, 1), kColumnThreads, 0, q.stream>>>(
      {scratch, splits, width}, {result, /*add=*/true});
  return cudaGetLastError();
}

ColumnOutput first_output(std::int64_t splits, float* result, float* scratch) {
  return {splits == 1 ? result : scratch, /*add=*/splits == 1};
}

}  // namespace

cudaError_t launch_column_sums(ConstMatrix g, float* gb, float* scratch, const Queue& q) {
  if (g.size() == 0) return cudaSuccess;
  const std::int64_t splits = column_splits(g.rows);
  column_sums_kernel<<<column_grid(g.cols, splits), kColumnThreads, 0, q.stream>>>(
      g, first_output(splits, gb, scratch));
  return add_splits(scratch, splits, g.cols, gb, q);
}

cudaError_t launch_baseline_sums(const Tile& tile, ConstMatrix a, const float* b, ConstBits s,
                                 UnitType type, const float* C_hat, float* sums, float* scratch,
                                 const Queue& q) {
  if (tile.rows() * s.cols == 0) return cudaSuccess;
  const std::int64_t splits = column_splits(tile.rows());
  const dim3 grid = column_grid(s.cols, splits);
  const BaselineSumsArgs p{tile, a, b, s, C_hat};
  const ColumnOutput out = first_output(splits, sums, scratch);
  if (type == UnitType::f32) {
    baseline_sums_kernel<float><<<grid, kColumnThreads, 0, q.stream>>>(p, out);
  } else {
    baseline_sums_kernel<Bf16><<<grid, kColumnThreads, 0, q.stream>>>(p, out);
  }
  return add_splits(scratch, splits, 2 * s.cols, sums, q);
}

}  // namespace sfnn
