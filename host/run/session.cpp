#include "host/run/session.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <fstream>

#include "host/base/utf8.hpp"

namespace sfnn {

std::string program_version() { return SFNN_VERSION; }

std::string utc_now() {
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::time(nullptr)));
}

std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      const std::string model = line.substr(colon + 2);
      return is_printable_utf8(model) ? model : "";
    }
  }
  return "";
}

SessionRecord session_record(const Backend& backend, std::int64_t first_step) {
  return {.started = utc_now(),
          .step = std::uint64_t(first_step),
          .device = backend.describe(),
          .cpu = cpu_model(),
          .version = program_version()};
}

}  // namespace sfnn
