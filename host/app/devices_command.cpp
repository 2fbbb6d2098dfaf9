#include <fmt/format.h>

#include "host/app/command_line.hpp"
#include "host/app/commands.hpp"
#include "host/devices/registry.hpp"

namespace sfnn {
namespace {

int run_devices() {
  std::string why_no_gpu;
  for (const DeviceInfo& device : list_devices(&why_no_gpu))
    fmt::print("{:<8} {}\n", device.name, device.description);
  if (!why_no_gpu.empty()) fmt::print("no GPU:  {}\n", why_no_gpu);
  return kDone;
}

}  // namespace

void add_devices_command(CLI::App& app, int& code) {
  CLI::App* sub = app.add_subcommand("devices", "List the values of --device on this machine");
  sub->footer(examples("  sfnn devices"));
  sub->callback([&code] { code = run_devices(); });
}

}  // namespace sfnn
