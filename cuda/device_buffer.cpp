#include "cuda/device_buffer.hpp"

#include <fmt/format.h>

namespace sfnn {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

[[noreturn]] void throw_device_full(std::size_t bytes) {
  static_cast<void>(cudaGetLastError());
  std::size_t free = 0, total = 0;
  static_cast<void>(cudaMemGetInfo(&free, &total));
  throw ConfigError(
      fmt::format("the GPU has too little memory: {:.0f} MiB more were asked for, {:.0f} of {:.0f} "
                  "MiB are free; use a smaller batch, fewer particles or --device cpu",
                  double(bytes) / kMiB, double(free) / kMiB, double(total) / kMiB));
}

}  // namespace

DeviceMemory make_device_memory(std::size_t bytes) {
  void* data = nullptr;
  const cudaError_t error = cudaMalloc(&data, bytes);
  if (error == cudaErrorMemoryAllocation) throw_device_full(bytes);
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
    memory_ = DeviceMemory();  // first: both may not fit. Waits for those who still use it.
    memory_ = make_device_memory(count);
    size_ = count;
    ++moves_;
  }
  return memory_.get();
}

}  // namespace sfnn
