#include "cuda/blas.hpp"

#include <fmt/format.h>

#include <limits>

namespace sfnn {
namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t(32) << 20;  // what cuBLAS asks for on Hopper

int blas_int(std::int64_t size) {
  if (size > std::numeric_limits<int>::max())
    throw ShapeError(fmt::format("{} rows are more than a product takes: use smaller tiles", size));
  return int(size);
}

ConstMatrix as_floats(ConstBits bits) {
  return {reinterpret_cast<const float*>(bits.data), bits.rows, bits.cols};
}

}  // namespace

Blas::Blas(MathMode math, const Queue& queue, int& scratch_moves)
    : math_(math),
      queue_(queue),
      workspace_(make_device_memory(kWorkspaceBytes)),
      handle_(make_blas_handle()),
      parts_(scratch_moves) {
  SFNN_BLAS_CHECK(cublasSetStream(handle_.get(), queue.stream));
  SFNN_BLAS_CHECK(cublasSetWorkspace(handle_.get(), workspace_.get(), kWorkspaceBytes));
  SFNN_BLAS_CHECK(cublasSetMathMode(
      handle_.get(), math == MathMode::tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH));
}

bool Blas::done_if_empty(const Product& p) {
  if (p.out.size() == 0) return true;
  if (p.inner > 0) return false;
  if (p.write == Write::set) {  // an input of width zero: the empty sum
    SFNN_CUDA_CHECK(cudaMemsetAsync(p.out.data, 0, p.out.size() * sizeof(float), queue_.stream));
  }
  return true;
}

// A row-major matrix is its transpose in cuBLAS's column-major terms: out^T = op(B)^T op(A)^T.
void Blas::single(const Product& p, ConstMatrix A, ConstMatrix B) {
  if (done_if_empty(p)) return;
  const float one = 1, beta = p.write == Write::add ? 1.0f : 0.0f;
  SFNN_BLAS_CHECK(cublasSgemm(handle_.get(), p.op_B, p.op_A, blas_int(p.out.cols),
                              blas_int(p.out.rows), blas_int(p.inner), &one, B.data,
                              blas_int(B.cols), A.data, blas_int(A.cols), &beta, p.out.data,
                              blas_int(p.out.cols)));
}

void Blas::split(const Product& p, ConstBits A, ConstMatrix B) {
  if (done_if_empty(p)) return;
  // Tensor cores load 16 bytes at a time: every part begins on such a border.
  const std::int64_t stride = (B.size() + 7) / 8 * 8;
  Bf16* parts = parts_.get<Bf16>(3 * stride);
  SFNN_CUDA_CHECK(launch_split_bf16(B.data, B.size(), parts, stride, queue_));
  for (int k = 2; k >= 0; --k) {  // smallest first: nothing of it is lost
    const float one = 1, beta = k < 2 || p.write == Write::add ? 1.0f : 0.0f;
    SFNN_BLAS_CHECK(cublasGemmEx(handle_.get(), p.op_B, p.op_A, blas_int(p.out.cols),
                                 blas_int(p.out.rows), blas_int(p.inner), &one, parts + k * stride,
                                 CUDA_R_16BF, blas_int(B.cols), A.data, CUDA_R_16BF,
                                 blas_int(A.cols), &beta, p.out.data, CUDA_R_32F,
                                 blas_int(p.out.cols), CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  }
}

void Blas::multiply(ConstMatrix A, ConstMatrix B, Matrix out, Write write) {
  single({CUBLAS_OP_N, CUBLAS_OP_N, A.cols, out, write}, A, B);
}

void Blas::multiply(ConstBits A, ConstMatrix B, Matrix out, Write write) {
  if (unit_type() == UnitType::f32) return multiply(as_floats(A), B, out, write);
  split({CUBLAS_OP_N, CUBLAS_OP_N, A.cols, out, write}, A, B);
}

void Blas::multiply_transposed(ConstMatrix A, ConstMatrix B, Matrix out, Write write) {
  single({CUBLAS_OP_N, CUBLAS_OP_T, A.cols, out, write}, A, B);
}

void Blas::accumulate_outer(ConstMatrix A, ConstMatrix B, Matrix out) {
  single({CUBLAS_OP_T, CUBLAS_OP_N, A.rows, out, Write::add}, A, B);
}

void Blas::accumulate_outer(ConstBits A, ConstMatrix B, Matrix out) {
  if (unit_type() == UnitType::f32) return accumulate_outer(as_floats(A), B, out);
  split({CUBLAS_OP_T, CUBLAS_OP_N, A.rows, out, Write::add}, A, B);
}

}  // namespace sfnn
