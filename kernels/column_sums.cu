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

cudaError_t launch_column_sums(const AccumulateColumnSumsArgs& p, float* scratch, const Queue& q) {
  if (p.g.size() == 0) return cudaSuccess;
  const std::int64_t splits = column_splits(p.g.rows);
  column_sums_kernel<<<column_grid(p.g.cols, splits), kColumnThreads, 0, q.stream>>>(
      p.g, first_output(splits, p.gb, scratch));
  return add_splits(scratch, splits, p.g.cols, p.gb, q);
}

cudaError_t launch_baseline_sums(const AccumulateBaselineArgs& p, UnitType type, float* scratch,
                                 const Queue& q) {
  if (p.tile.rows() * p.s.cols == 0) return cudaSuccess;
  const std::int64_t splits = column_splits(p.tile.rows());
  const dim3 grid = column_grid(p.s.cols, splits);
  const ColumnOutput out = first_output(splits, p.sums, scratch);
  if (type == UnitType::f32) {
    baseline_sums_kernel<float><<<grid, kColumnThreads, 0, q.stream>>>(p, out);
  } else {
    baseline_sums_kernel<Bf16><<<grid, kColumnThreads, 0, q.stream>>>(p, out);
  }
  return add_splits(scratch, splits, 2 * p.s.cols, p.sums, q);
}

}  // namespace sfnn
