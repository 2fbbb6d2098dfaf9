// The one place that knows which backends there are.
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "host/backend/backend.hpp"
#include "host/backend/cpu/cpu_backend.hpp"
#include "host/backend/error.hpp"
#include "host/backend/plain/plain_backend.hpp"
#ifdef SFNN_CUDA
#include "cuda/cuda_backend.hpp"
#include "cuda/device.hpp"
#endif

namespace sfnn {
namespace {

#ifdef SFNN_CUDA
std::unique_ptr<Backend> make_cuda(const BackendOptions& options, const std::string& name) {
  return make_cuda_backend(cuda_device_id(name), options);
}
#else
std::string why_no_cuda_device(const std::string&) { return "this program was built without CUDA"; }
std::vector<DeviceInfo> list_cuda_devices() { return {}; }
std::unique_ptr<Backend> make_cuda(const BackendOptions&, const std::string&) { return nullptr; }
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
    if (note) *note = fmt::format("device {}: {}", backend->describe(), why);
    return backend;
  };
  const bool is_auto = options.device == "auto";
  if (options.device == "cpu" || (is_auto && options.plain))
    return taken(make_cpu(options), "as asked for");
  if (!is_auto && options.device != "cuda" && options.device.rfind("cuda:", 0) != 0) {
    throw ConfigError(
        fmt::format("device '{}' is not known: use auto, cpu, cuda or cuda:1", options.device));
  }
  const std::string device = is_auto ? "cuda" : options.device;
  const std::string missing = why_no_cuda_device(device);
  if (missing.empty()) {
    return taken(make_cuda(options, device), is_auto ? "the first GPU" : "as asked for");
  }
  if (is_auto) return taken(make_cpu(options), missing);
  throw ConfigError(
      fmt::format("--device {} cannot be had: {}; use --device cpu", options.device, missing));
}

std::vector<DeviceInfo> list_devices() {
  std::vector<DeviceInfo> devices = list_cuda_devices();
  devices.insert(devices.begin(), {"cpu", make_cpu({})->describe()});
  return devices;
}

}  // namespace sfnn
