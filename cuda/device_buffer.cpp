#include "cuda/device_buffer.hpp"

#include <fmt/format.h>

namespace sfnn {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

}  // namespace

DeviceMemory make_device_memory(std::size_t bytes) {
  void* data = nullptr;
  const cudaError_t error = cudaMalloc(&data, bytes);
  if (error == cudaErrorMemoryAllocation)
    detail::throw_device_full(fmt::format("{:.0f} MiB more were asked for", double(bytes) / kMiB));
  SFNN_CUDA_CHECK(error);
  return DeviceMemory(static_cast<std::byte*>(data));
}

PinnedMemory make_pinned_memory(std::size_t bytes) {
  void* data = nullptr;
  if (cudaMallocHost(&data, bytes) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    throw ConfigError(
        fmt::format("{:.0f} MiB of page-locked memory, for a data set that does not fit on the "
                    "GPU, are not to be had; use data.limit or --device cpu",
                    double(bytes) / kMiB));
  }
  return PinnedMemory(static_cast<std::byte*>(data));
}

std::byte* Scratch::bytes(std::size_t count) {
  if (count > size_) {
    memory_ = DeviceMemory();  // first: both may not fit. Waits for pending uses.
    size_ = 0;                 // in case the next line throws
    memory_ = make_device_memory(count);
    size_ = count;
    ++moves_;
  }
  return memory_.get();
}

}  // namespace sfnn
