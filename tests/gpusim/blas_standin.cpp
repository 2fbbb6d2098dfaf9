// cuBLAS over OpenBLAS. Operands are gathered into dense floats first, so that every type takes the
// same road and every element read is known to be inside an allocation and initialised.
#include <cblas.h>
#include <cublas_v2.h>

#include <cstdio>
#include <cstring>

#include "tests/gpusim/simulator.hpp"
#include "tests/gpusim/stream.hpp"

struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  bool has_workspace = false;  // set by the user
};

namespace sfnn::gpusim {
namespace {

constexpr std::size_t kHandleBytes = std::size_t(1) << 20;

struct Matrix {
  const void* data;
  cudaDataType type;
  std::int64_t rows, cols, ld;  // as it lies in memory, column-major
  const char* name;

  std::size_t element_bytes() const { return type == CUDA_R_32F ? 4 : 2; }
  std::uint64_t column(std::int64_t c) const {
    return std::uint64_t(data) + std::uint64_t(c * ld) * element_bytes();
  }
};

struct Product {
  const char* call;
  cublasOperation_t op_a, op_b;
  std::int64_t m, n, k;
  float alpha, beta;
  Matrix a, b, c;
  bool tf32;
};

bool is_known(cudaDataType type) {
  return type == CUDA_R_32F || type == CUDA_R_16BF || type == CUDA_R_16F;
}

float element(const std::uint8_t* p, cudaDataType type) {
  if (type == CUDA_R_32F) {
    float v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  std::uint16_t bits;
  std::memcpy(&bits, p, sizeof bits);
  return type == CUDA_R_16BF ? bf16_to_float(bits) : half_to_float(bits);
}

// The allocation a column lies in.
Allocation& allocation_of(const Product& p, const Matrix& x, std::int64_t column) {
  const std::size_t bytes = std::size_t(x.rows) * x.element_bytes();
  Allocation* a = Simulator::get().memory.find(x.column(column), bytes);
  if (!a)
    throw Fault(FaultKind::kBadCall, std::string(p.call) + ": column " + std::to_string(column) +
                                         " of operand " + x.name +
                                         " lies outside every device allocation");
  return *a;
}

std::vector<float> gathered(const Product& p, const Matrix& x) {
  std::vector<float> dense(std::size_t(x.rows * x.cols));
  const std::size_t bytes = std::size_t(x.rows) * x.element_bytes();
  for (std::int64_t c = 0; c < x.cols; ++c) {
    const Allocation& a = allocation_of(p, x, c);
    const std::size_t at = x.column(c) - a.base;
    if (a.tracks_validity() && a.valid.first_invalid(at, bytes) != at + bytes)
      throw Fault(FaultKind::kUninitialised, std::string(p.call) + ": operand " + x.name +
                                                 " holds uninitialised memory in column " +
                                                 std::to_string(c));
    const auto* from = reinterpret_cast<const std::uint8_t*>(x.column(c));
    for (std::int64_t r = 0; r < x.rows; ++r) {
      const float v = element(from + std::size_t(r) * x.element_bytes(), x.type);
      dense[std::size_t(c * x.rows + r)] = p.tf32 ? to_tf32(v, Rounding::kNearest) : v;
    }
  }
  return dense;
}

void scattered(const Product& p, const std::vector<float>& dense) {
  const Matrix& x = p.c;
  for (std::int64_t c = 0; c < x.cols; ++c) {
    allocation_of(p, x, c);
    auto* to = reinterpret_cast<std::uint8_t*>(x.column(c));
    for (std::int64_t r = 0; r < x.rows; ++r) {
      const float v = dense[std::size_t(c * x.rows + r)];
      if (x.type == CUDA_R_32F) {
        std::memcpy(to + 4 * r, &v, sizeof v);
      } else {
        const std::uint16_t bits =
            x.type == CUDA_R_16BF ? to_bf16(v, Rounding::kNearest) : to_half(v, Rounding::kNearest);
        std::memcpy(to + 2 * r, &bits, sizeof bits);
      }
    }
    Simulator::get().memory.mark_valid(to, std::size_t(x.rows) * x.element_bytes());
  }
}

bool overlap(const Matrix& x, const Matrix& y) {
  if (x.rows * x.cols == 0 || y.rows * y.cols == 0) return false;
  const auto end = [](const Matrix& z) {
    return z.column(z.cols - 1) + std::size_t(z.rows) * z.element_bytes();
  };
  return x.column(0) < end(y) && y.column(0) < end(x);
}

void multiply(const Product& p) {
  if (overlap(p.c, p.a) || overlap(p.c, p.b))
    throw Fault(FaultKind::kBadCall, std::string(p.call) + ": the result overlaps an operand");
  const auto a = gathered(p, p.a), b = gathered(p, p.b);
  // C is not read if beta is zero: it may hold anything.
  Product exact = p;
  exact.tf32 = false;
  auto c = p.beta == 0 ? std::vector<float>(std::size_t(p.m * p.n)) : gathered(exact, p.c);
  const auto op = [](cublasOperation_t o) { return o == CUBLAS_OP_N ? CblasNoTrans : CblasTrans; };
  cblas_sgemm(CblasColMajor, op(p.op_a), op(p.op_b), int(p.m), int(p.n), int(p.k), p.alpha,
              a.data(), std::max(1, int(p.a.rows)), b.data(), std::max(1, int(p.b.rows)), p.beta,
              c.data(), int(p.m));
  scattered(p, c);
}

// Bytes, a power of two, of which all three addresses are multiples.
std::size_t alignment_of(const Product& p) {
  const auto all = std::uint64_t(p.a.data) | std::uint64_t(p.b.data) | std::uint64_t(p.c.data);
  std::size_t bytes = 256;
  while (all % bytes) bytes /= 2;
  return bytes;
}

cublasStatus_t invalid(const char* call, const char* why) {
  std::fprintf(stderr, "gpusim: %s: %s\n", call, why);
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t start(cublasHandle_t handle, const Product& p) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (p.m < 0 || p.n < 0 || p.k < 0) return invalid(p.call, "a negative size");
  if (!is_known(p.a.type) || !is_known(p.b.type) || !is_known(p.c.type) || p.a.type != p.b.type)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  for (const Matrix* x : {&p.a, &p.b, &p.c})
    if (x->ld < std::max<std::int64_t>(1, x->rows))
      return invalid(p.call, "a leading dimension below the number of rows");
  if (p.m == 0 || p.n == 0) return CUBLAS_STATUS_SUCCESS;
  if (!handle->has_workspace) ++Simulator::get().calls.allocations;  // it takes one of its own
  const auto error = submit(handle->stream, NodeKind::kGemm, [p] {
    multiply(p);
    LaunchRecord record;
    record.kernel = p.call;
    record.is_gemm = true;
    record.m = p.m, record.n = p.n, record.k = p.k;
    record.alignment = alignment_of(p);
    Simulator::get().records.push_back(record);
  });
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

struct Shape {
  cublasOperation_t op_a, op_b;
  std::int64_t m, n, k;
};

Product product(cublasHandle_t handle, const char* call, const Shape& s, const void* alpha,
                const void* a, cudaDataType a_type, std::int64_t lda, const void* b,
                cudaDataType b_type, std::int64_t ldb, const void* beta, void* c,
                cudaDataType c_type, std::int64_t ldc, bool tf32) {
  const bool plain_a = s.op_a == CUBLAS_OP_N, plain_b = s.op_b == CUBLAS_OP_N;
  const bool tensor_cores = handle && handle->math == CUBLAS_TF32_TENSOR_OP_MATH;
  return {call,
          s.op_a,
          s.op_b,
          s.m,
          s.n,
          s.k,
          *static_cast<const float*>(alpha),
          *static_cast<const float*>(beta),
          {a, a_type, plain_a ? s.m : s.k, plain_a ? s.k : s.m, lda, "A"},
          {b, b_type, plain_b ? s.k : s.n, plain_b ? s.n : s.k, ldb, "B"},
          {c, c_type, s.m, s.n, ldc, "C"},
          a_type == CUDA_R_32F && (tf32 || tensor_cores)};
}

bool is_float_compute(cublasComputeType_t t) {
  return t == CUBLAS_COMPUTE_32F || t == CUBLAS_COMPUTE_32F_PEDANTIC ||
         t == CUBLAS_COMPUTE_32F_FAST_TF32;
}

const void* shifted(const void* p, cudaDataType type, std::int64_t elements) {
  return static_cast<const char*>(p) + elements * (type == CUDA_R_32F ? 4 : 2);
}

}  // namespace
}  // namespace sfnn::gpusim

using namespace sfnn::gpusim;

extern "C" {

// A handle takes device memory of its own.
cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  const Memory& memory = Simulator::get().memory;
  if (memory.used() + kHandleBytes > memory.total()) return CUBLAS_STATUS_ALLOC_FAILED;
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  handle->has_workspace = false;  // as cuBLAS has it: back to its own
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  *stream = handle->stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes) {
  handle->has_workspace = bytes > 0;
  const bool ok = bytes == 0 || Simulator::get().memory.find(std::uint64_t(workspace), bytes);
  return ok ? CUBLAS_STATUS_SUCCESS
            : invalid("cublasSetWorkspace", "the workspace is no device memory");
}
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  handle->math = mode;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  *mode = handle->math;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t, cublasPointerMode_t mode) {
  return mode == CUBLAS_POINTER_MODE_HOST ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t, cublasAtomicsMode_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int* version) {
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}
const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    default:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
  }
}
const char* cublasGetStatusString(cublasStatus_t status) { return cublasGetStatusName(status); }

cublasStatus_t cublasSgemm_v2_64(cublasHandle_t handle, cublasOperation_t op_a,
                                 cublasOperation_t op_b, int64_t m, int64_t n, int64_t k,
                                 const float* alpha, const float* a, int64_t lda, const float* b,
                                 int64_t ldb, const float* beta, float* c, int64_t ldc) {
  return start(handle, product(handle, "cublasSgemm", {op_a, op_b, m, n, k}, alpha, a, CUDA_R_32F,
                               lda, b, CUDA_R_32F, ldb, beta, c, CUDA_R_32F, ldc, false));
}
cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                              int m, int n, int k, const float* alpha, const float* a, int lda,
                              const float* b, int ldb, const float* beta, float* c, int ldc) {
  return cublasSgemm_v2_64(handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
cublasStatus_t cublasGemmEx_64(cublasHandle_t handle, cublasOperation_t op_a,
                               cublasOperation_t op_b, int64_t m, int64_t n, int64_t k,
                               const void* alpha, const void* a, cudaDataType a_type, int64_t lda,
                               const void* b, cudaDataType b_type, int64_t ldb, const void* beta,
                               void* c, cudaDataType c_type, int64_t ldc,
                               cublasComputeType_t compute, cublasGemmAlgo_t) {
  if (!is_float_compute(compute)) return CUBLAS_STATUS_NOT_SUPPORTED;
  return start(handle,
               product(handle, "cublasGemmEx", {op_a, op_b, m, n, k}, alpha, a, a_type, lda, b,
                       b_type, ldb, beta, c, c_type, ldc, compute == CUBLAS_COMPUTE_32F_FAST_TF32));
}
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                            int m, int n, int k, const void* alpha, const void* a,
                            cudaDataType a_type, int lda, const void* b, cudaDataType b_type,
                            int ldb, const void* beta, void* c, cudaDataType c_type, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t algo) {
  return cublasGemmEx_64(handle, op_a, op_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta,
                         c, c_type, ldc, compute, algo);
}
// A batch is as many products, and as many launch records.
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t op_a,
                                          cublasOperation_t op_b, int m, int n, int k,
                                          const void* alpha, const void* a, cudaDataType a_type,
                                          int lda, long long stride_a, const void* b,
                                          cudaDataType b_type, int ldb, long long stride_b,
                                          const void* beta, void* c, cudaDataType c_type, int ldc,
                                          long long stride_c, int batch,
                                          cublasComputeType_t compute, cublasGemmAlgo_t algo) {
  for (int i = 0; i < batch; ++i) {
    const auto status = cublasGemmEx(
        handle, op_a, op_b, m, n, k, alpha, shifted(a, a_type, i * stride_a), a_type, lda,
        shifted(b, b_type, i * stride_b), b_type, ldb, beta,
        const_cast<void*>(shifted(c, c_type, i * stride_c)), c_type, ldc, compute, algo);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
  }
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t op_a,
                                         cublasOperation_t op_b, int m, int n, int k,
                                         const float* alpha, const float* a, int lda,
                                         long long stride_a, const float* b, int ldb,
                                         long long stride_b, const float* beta, float* c, int ldc,
                                         long long stride_c, int batch) {
  return cublasGemmStridedBatchedEx(handle, op_a, op_b, m, n, k, alpha, a, CUDA_R_32F, lda,
                                    stride_a, b, CUDA_R_32F, ldb, stride_b, beta, c, CUDA_R_32F,
                                    ldc, stride_c, batch, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

}  // extern "C"
