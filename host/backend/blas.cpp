#include "host/backend/blas.hpp"

#include <cblas.h>

#include <algorithm>

namespace sfnn::blas {
namespace {

void gemm(CBLAS_TRANSPOSE trans_a, CBLAS_TRANSPOSE trans_b, ConstMatrix A, ConstMatrix B,
          Matrix out, std::int64_t inner, Write write) {
  if (out.size() == 0) return;
  if (inner == 0) {  // an input of width zero: the empty sum
    if (write == Write::set) std::fill_n(out.data, out.size(), 0.0f);
    return;
  }
  cblas_sgemm(CblasRowMajor, trans_a, trans_b, int(out.rows), int(out.cols), int(inner), 1.0f,
              A.data, int(A.cols), B.data, int(B.cols), write == Write::add ? 1.0f : 0.0f, out.data,
              int(out.cols));
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
