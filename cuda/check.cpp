#include "cuda/check.hpp"

#include <fmt/format.h>

namespace sfnn::detail {

void throw_cuda_error(cudaError_t error, const char* expression, const char* file, int line) {
  static_cast<void>(cudaGetLastError());
  throw CudaError(fmt::format("{} failed at {}:{}: {} ({})", expression, file, line,
                              cudaGetErrorString(error), cudaGetErrorName(error)));
}

void throw_blas_error(cublasStatus_t status, const char* expression, const char* file, int line) {
  throw CudaError(
      fmt::format("{} failed at {}:{}: {}", expression, file, line, cublasGetStatusString(status)));
}

}  // namespace sfnn::detail
