// Owners of the runtime's handles: move-only, one owner each, destructors that never throw.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <utility>

#include "cuda/check.hpp"

namespace sfnn {

template <class Handle, auto destroy>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_) static_cast<void>(destroy(handle_));
  }

  Handle get() const { return handle_; }
  Handle release() { return std::exchange(handle_, nullptr); }  // to another owner
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  Handle handle_ = nullptr;
};

using Stream = Owned<cudaStream_t, cudaStreamDestroy>;
using Event = Owned<cudaEvent_t, cudaEventDestroy>;
using Graph = Owned<cudaGraph_t, cudaGraphDestroy>;
using GraphExec = Owned<cudaGraphExec_t, cudaGraphExecDestroy>;
using BlasHandle = Owned<cublasHandle_t, cublasDestroy>;

// Apart from the default stream: nothing waits for anything it was not told to wait for.
inline Stream make_stream() {
  cudaStream_t stream = nullptr;
  SFNN_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return Stream(stream);
}

inline Event make_event() {
  cudaEvent_t event = nullptr;
  SFNN_CUDA_CHECK(cudaEventCreate(&event));
  return Event(event);
}

// An event that orders streams and keeps no time, which is cheaper.
inline Event make_mark() {
  cudaEvent_t event = nullptr;
  SFNN_CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return Event(event);
}

inline BlasHandle make_blas_handle() {
  cublasHandle_t handle = nullptr;
  SFNN_BLAS_CHECK(cublasCreate(&handle));
  return BlasHandle(handle);
}

}  // namespace sfnn
