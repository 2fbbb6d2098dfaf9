// From the libraries' error codes to exceptions that say what was tried, where, and what happened.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <string>

#include "host/base/error.hpp"

namespace sfnn {

struct CudaError : Error {
  using Error::Error;
};

// Too little memory is for the user to solve, wherever it shows. what() also says how.
struct DeviceFullError : ConfigError {
  explicit DeviceFullError(const std::string& what_is_short);
  std::string lack;  // what is missing: "the GPU has too little memory: ..."
};

namespace detail {
// A DeviceFullError that says what is free.
[[noreturn]] void throw_device_full(const std::string& asked_for);
// The pending error is cleared, so that the next call does not report this one again.
[[noreturn]] void throw_cuda_error(cudaError_t, const char* expression, const char* file, int line);
[[noreturn]] void throw_blas_error(cublasStatus_t, const char* expression, const char* file,
                                   int line);
}  // namespace detail

}  // namespace sfnn

#define SFNN_CUDA_CHECK(expression)                                                  \
  do {                                                                               \
    if (const cudaError_t sfnn_error = (expression); sfnn_error != cudaSuccess)      \
      ::sfnn::detail::throw_cuda_error(sfnn_error, #expression, __FILE__, __LINE__); \
  } while (false)

#define SFNN_BLAS_CHECK(expression)                                                            \
  do {                                                                                         \
    if (const cublasStatus_t sfnn_status = (expression); sfnn_status != CUBLAS_STATUS_SUCCESS) \
      ::sfnn::detail::throw_blas_error(sfnn_status, #expression, __FILE__, __LINE__);          \
  } while (false)
