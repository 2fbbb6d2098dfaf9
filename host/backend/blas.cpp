#include "host/backend/blas.hpp"

#include <cblas.h>

#include <algorithm>

#include "host/backend/team.hpp"

namespace sfnn::blas {
namespace {

// How many blocks of rows a product is cut into, for a team to share: two from 512 rows on, and one
// more for every further 1024. Each packs B again, which costs as much as some 20 rows. A rule on
// shapes that holds without a team, too: OpenBLAS need not give the same bits for another cut.
std::int64_t row_blocks(Matrix out) {
  constexpr std::int64_t kLeastColumns = 512, kMaxBlocks = 4;
  if (out.cols < kLeastColumns) return 1;
  return std::min(kMaxBlocks, 1 + (out.rows + 512) / 1024);
}

void gemm(CBLAS_TRANSPOSE trans_a, CBLAS_TRANSPOSE trans_b, ConstMatrix A, ConstMatrix B,
          Matrix out, std::int64_t inner, Write write) {
  if (out.size() == 0) return;
  if (inner == 0) {  // an input of width zero: the empty sum
    if (write == Write::set) std::fill_n(out.data, out.size(), 0.0f);
    return;
  }
  constexpr std::int64_t kUnit = 16;  // whole registers of every kernel
  const std::int64_t blocks = row_blocks(out), units = (out.rows + kUnit - 1) / kUnit;
  share(blocks, [&](std::int64_t block) {
    const std::int64_t first = units * block / blocks * kUnit;
    const std::int64_t end = std::min(out.rows, units * (block + 1) / blocks * kUnit);
    const float* rows = A.data + first * (trans_a == CblasNoTrans ? A.cols : 1);
    cblas_sgemm(CblasRowMajor, trans_a, trans_b, int(end - first), int(out.cols), int(inner), 1.0f,
                rows, int(A.cols), B.data, int(B.cols), write == Write::add ? 1.0f : 0.0f,
                out.row(first), int(out.cols));
  });
}

}  // namespace

void multiply(ConstMatrix A, ConstMatrix B, Matrix out, Write write) {
  gemm(CblasNoTrans, CblasNoTrans, A, B, out, A.cols, write);
}

void multiply_transposed(ConstMatrix A, ConstMatrix B, Matrix out, Write write) {
  gemm(CblasNoTrans, CblasTrans, A, B, out, A.cols, write);
}

void accumulate_outer(ConstMatrix A, ConstMatrix B, Matrix out) {
  gemm(CblasTrans, CblasNoTrans, A, B, out, A.rows, Write::add);
}

}  // namespace sfnn::blas
