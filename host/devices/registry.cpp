// The one place that knows which backends there are.
#include "host/devices/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "host/backend/cpu/cpu_backend.hpp"
#include "host/backend/plain/plain_backend.hpp"
#include "host/base/error.hpp"
#ifdef SFNN_CUDA
#include "cuda/cuda_backend.hpp"
#include "cuda/device.hpp"
#endif

namespace sfnn {
namespace {

#ifndef SFNN_CUDA
struct CudaOptions {
  std::string device, math;
  bool graph;
};
constexpr bool kHasCuda = false;
constexpr const char* kWithoutCuda = "this program was built without CUDA";

std::vector<DeviceInfo> list_cuda_devices(std::string& why_none) {
  why_none = kWithoutCuda;
  return {};
}
std::unique_ptr<Backend> make_cuda_backend(const CudaOptions&, std::string& why_not) {
  why_not = kWithoutCuda;
  return nullptr;
}
#else
constexpr bool kHasCuda = true;
#endif

std::unique_ptr<Backend> make_cpu(const BackendOptions& options) {
  const int cores = std::max(1, int(std::thread::hardware_concurrency()));
  const int threads = options.threads > 0 ? options.threads : cores;
  if (options.plain) return std::make_unique<PlainBackend>(threads);
  return std::make_unique<CpuBackend>(threads);
}

}  // namespace

std::unique_ptr<Backend> make_backend(const BackendOptions& options, std::string* note) {
  const auto taken = [&](std::unique_ptr<Backend> backend, const std::string& why) {
    if (note) *note = why.empty() ? "" : fmt::format("using {}, {}", backend->describe(), why);
    return backend;
  };
  const bool is_auto = options.device == "auto";
  if (options.device == "cpu" || (is_auto && options.plain))
    return taken(make_cpu(options), "as asked for");
  if (!is_auto && options.device != "cuda" && options.device.rfind("cuda:", 0) != 0) {
    throw ConfigError(
        fmt::format("device '{}' is not known: use auto, cpu, cuda or cuda:1", options.device));
  }
  std::string why_not;
  if (auto gpu = make_cuda_backend({is_auto ? "cuda" : options.device, options.math, options.graph},
                                   why_not))
    return taken(std::move(gpu), is_auto ? "the first GPU" : "as asked for");
  // A program without CUDA has no choice to tell of.
  if (is_auto) return taken(make_cpu(options), kHasCuda ? "no GPU: " + why_not : "");
  throw ConfigError(
      fmt::format("--device {} is not available: {}; use --device cpu", options.device, why_not));
}

std::string cuda_build() {
#ifdef SFNN_CUDA
  return cuda_toolkit();
#else
  return "without CUDA";
#endif
}

std::vector<DeviceInfo> list_devices(std::string* why_no_gpu) {
  std::string why_none;
  std::vector<DeviceInfo> devices = list_cuda_devices(why_none);
  if (why_no_gpu) *why_no_gpu = why_none;
  devices.insert(devices.begin(), {"cpu", make_cpu({})->describe()});
  return devices;
}

}  // namespace sfnn
