#include "cuda/check.hpp"

#include <fmt/format.h>

namespace sfnn {

DeviceFullError::DeviceFullError(const std::string& what_is_short)
    : ConfigError(what_is_short + "; use a smaller batch, fewer particles or --device cpu"),
      lack(what_is_short) {}

namespace detail {

void throw_device_full(const std::string& asked_for) {
  constexpr double kMiB = 1024.0 * 1024.0;
  static_cast<void>(cudaGetLastError());
  std::size_t free = 0, total = 0;
  static_cast<void>(cudaMemGetInfo(&free, &total));
  static_cast<void>(cudaGetLastError());
  throw DeviceFullError(
      fmt::format("the GPU has too little memory: {}, {:.0f} of {:.0f} MiB are free", asked_for,
                  double(free) / kMiB, double(total) / kMiB));
}

void throw_cuda_error(cudaError_t error, const char* expression, const char* file, int line) {
  if (error == cudaErrorMemoryAllocation) throw_device_full("CUDA's own needs do not fit");
  static_cast<void>(cudaGetLastError());
  throw CudaError(fmt::format("{} failed at {}:{}: {} ({})", expression, file, line,
                              cudaGetErrorString(error), cudaGetErrorName(error)));
}

void throw_blas_error(cublasStatus_t status, const char* expression, const char* file, int line) {
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw_device_full("cuBLAS's own needs do not fit");
  throw CudaError(
      fmt::format("{} failed at {}:{}: {}", expression, file, line, cublasGetStatusString(status)));
}

}  // namespace detail
}  // namespace sfnn
