#include "cuda/device.hpp"

#include <cublas_v2.h>
#include <fmt/format.h>

#include "cuda/check.hpp"
#include "kernels/launch.hpp"

namespace sfnn {
namespace {

std::string why_no_device_at_all() {
  int driver = 0, count = 0;
  // Zero without a driver; the runtime's own error does not tell a missing driver from an old one.
  const cudaError_t version_error = cudaDriverGetVersion(&driver);
  if (version_error != cudaSuccess || driver == 0) {
    static_cast<void>(cudaGetLastError());
    return "no NVIDIA driver is installed";
  }
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) static_cast<void>(cudaGetLastError());
  if (error == cudaErrorInsufficientDriver) {
    return fmt::format("the NVIDIA driver is too old: it supports CUDA {}, this program needs {}",
                       cuda_version_text(driver), cuda_version_text(CUDART_VERSION));
  }
  if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0)) {
    return "the NVIDIA driver finds no GPU";
  }
  if (error != cudaSuccess) {
    return fmt::format("the NVIDIA driver does not answer: {}", cudaGetErrorString(error));
  }
  return {};
}

}  // namespace

std::string cuda_version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string cuda_toolkit() {
  return fmt::format("CUDA {}, cuBLAS {}.{}.{}", cuda_version_text(CUDART_VERSION),
                     CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH);
}

std::string why_no_cuda_device(const std::string& name) {
  const std::string missing = why_no_device_at_all();
  if (!missing.empty()) return missing;
  const int device = cuda_device_id(name);
  // If the GPU is set to serve one process at a time, this fails while another one has it.
  cudaError_t error = cudaSetDevice(device);
  if (error == cudaSuccess) error = find_kernels();
  if (error == cudaSuccess) return {};
  static_cast<void>(cudaGetLastError());
  switch (error) {
    case cudaErrorDevicesUnavailable:
      return "the GPU is busy: another process has it for itself, or it is closed to computing";
    case cudaErrorMemoryAllocation:
      return "the GPU has too little memory: CUDA's own needs do not fit";
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorUnsupportedPtxVersion:  // PTX alone, newer than the driver
      break;
    default:
      return fmt::format("the GPU cannot be used: {}", cudaGetErrorString(error));
  }
  cudaDeviceProp properties{};
  SFNN_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  return fmt::format(
      "this program has no code for {}, compute capability {}.{} ({}); the preset "
      "`release` builds it for 7.5 and later",
      properties.name, properties.major, properties.minor, cudaGetErrorString(error));
}

std::vector<DeviceInfo> list_cuda_devices(std::string& why_none) {
  std::vector<DeviceInfo> devices;
  why_none = why_no_device_at_all();
  if (!why_none.empty()) return devices;
  int count = 0;
  SFNN_CUDA_CHECK(cudaGetDeviceCount(&count));
  for (int id = 0; id < count; ++id) {
    cudaDeviceProp properties{};
    SFNN_CUDA_CHECK(cudaGetDeviceProperties(&properties, id));
    devices.push_back(
        {.name = fmt::format("cuda:{}", id),
         .description = fmt::format(
             "{}, compute capability {}.{}, {} multiprocessors, {:.1f} GiB", properties.name,
             properties.major, properties.minor, properties.multiProcessorCount,
             double(properties.totalGlobalMem) / (1024.0 * 1024.0 * 1024.0))});
  }
  return devices;
}

int cuda_device_id(const std::string& name) {
  std::string why_none;
  const std::vector<DeviceInfo> devices = list_cuda_devices(why_none);
  for (std::size_t id = 0; id < devices.size(); ++id)
    if (name == "cuda" || name == devices[id].name) return int(id);
  throw ConfigError(fmt::format("device '{}' is not there: `sfnn devices` lists what is", name));
}

}  // namespace sfnn
