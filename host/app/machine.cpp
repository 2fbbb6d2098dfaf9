#include "host/app/machine.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <fstream>
#include <thread>

#include "host/base/error.hpp"
#include "host/devices/registry.hpp"
#include "host/run/session.hpp"

namespace sfnn {
namespace {

std::string first_line_of(const char* file, std::string_view beginning = "") {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(beginning)) return line.substr(beginning.size());
  return "";
}

std::string compiler() {
#ifdef __clang__
  return "clang " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}

// "Linux 6.1.0-18-amd64 x86_64, Debian GNU/Linux 12 (bookworm)"
std::string system_text() {
  utsname system{};
  if (::uname(&system) != 0) return "unknown";
  std::string text = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
  std::string distribution = first_line_of("/etc/os-release", "PRETTY_NAME=");
  std::erase(distribution, '"');
  return distribution.empty() ? text : text + ", " + distribution;
}

}  // namespace

std::string machine_text() {
  std::string text;
  const auto add = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:<10} {}\n", name, Error::without_controls(value));
  };
  const auto cpu = make_backend({.device = "cpu"});
  constexpr std::int64_t kManyRows = 1000;  // enough for the method that training uses
  add("sfnn", program_version());
  add("build", fmt::format("{}, {}, {}", compiler(), SFNN_BUILD_TYPE, cuda_build()));
  add("system", system_text());
  const std::string model = cpu_model();
  add("processor", fmt::format("{}, {} threads", model.empty() ? "unknown" : model,
                               std::thread::hardware_concurrency()));
  add("backend", cpu->describe());
  add("products", fmt::format("{}; of bits: {}", cpu->product_method(/*bits=*/false, kManyRows),
                              cpu->product_method(/*bits=*/true, kManyRows)));
  std::string why_no_gpu;
  for (const DeviceInfo& device : list_devices(&why_no_gpu))
    if (device.name != "cpu") add("gpu", fmt::format("{} {}", device.name, device.description));
  if (!why_no_gpu.empty()) add("gpu", "none: " + why_no_gpu);
  const std::string driver = first_line_of("/proc/driver/nvidia/version", "NVRM version: ");
  add("driver", driver.empty() ? "no NVIDIA driver is loaded" : driver);
  return text;
}

}  // namespace sfnn
