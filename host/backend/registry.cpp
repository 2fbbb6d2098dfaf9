// The one place that knows which backends there are.
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "host/backend/backend.hpp"
#include "host/backend/cpu/cpu_backend.hpp"
#include "host/backend/error.hpp"
#include "host/backend/plain/plain_backend.hpp"

namespace sfnn {

std::unique_ptr<Backend> make_backend(const BackendOptions& options) {
  const int cores = std::max(1, int(std::thread::hardware_concurrency()));
  const int threads = options.threads > 0 ? options.threads : cores;
  if (options.device != "auto" && options.device != "cpu") {
    throw ConfigError(fmt::format("device '{}' is not known: use auto or cpu", options.device));
  }
  if (options.plain) return std::make_unique<PlainBackend>(threads);
  return std::make_unique<CpuBackend>(threads);
}

}  // namespace sfnn
