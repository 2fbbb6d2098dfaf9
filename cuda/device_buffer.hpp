// Owners of device memory, and of page-locked host memory that the device can read.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "cuda/handles.hpp"

namespace sfnn {

inline cudaError_t free_device(std::byte* data) { return cudaFree(data); }
inline cudaError_t free_pinned(std::byte* data) { return cudaFreeHost(data); }

using DeviceMemory = Owned<std::byte*, free_device>;
using PinnedMemory = Owned<std::byte*, free_pinned>;

DeviceMemory make_device_memory(std::size_t bytes);  // not zeroed; throws ConfigError
PinnedMemory make_pinned_memory(std::size_t bytes);  // throws ConfigError

// Device memory that grows to the largest request. What it held is lost when it grows, and its
// address changes: `moves` counts that, for callers that recorded the address.
class Scratch {
 public:
  explicit Scratch(int& moves) : moves_(moves) {}

  template <class T>
  T* get(std::size_t count) {
    return reinterpret_cast<T*>(bytes(count * sizeof(T)));
  }

 private:
  std::byte* bytes(std::size_t count);

  DeviceMemory memory_;
  std::size_t size_ = 0;
  int& moves_;
};

}  // namespace sfnn
