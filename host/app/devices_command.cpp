#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "host/app/command_line.hpp"
#include "host/app/commands.hpp"
#include "host/devices/registry.hpp"
#include "host/run/json.hpp"

namespace sfnn {
namespace {

void print_json(const std::vector<DeviceInfo>& devices, const std::string& why_no_gpu) {
  Json json = {{"devices", Json::array()}};
  for (const DeviceInfo& device : devices)
    json["devices"].push_back({{"name", device.name}, {"description", device.description}});
  if (!why_no_gpu.empty()) json["no_gpu"] = why_no_gpu;
  fmt::print("{}", to_text(json));
}

int run_devices(bool json) {
  std::string why_no_gpu;
  if (json) {
    const std::vector<DeviceInfo> devices = list_devices(&why_no_gpu);
    print_json(devices, why_no_gpu);
    return kDone;
  }
  for (const DeviceInfo& device : list_devices(&why_no_gpu))
    fmt::print("{:<8} {}\n", device.name, device.description);
  if (!why_no_gpu.empty()) fmt::print("no GPU:  {}\n", why_no_gpu);
  return kDone;
}

}  // namespace

void add_devices_command(CLI::App& app, int& code) {
  CLI::App* sub = app.add_subcommand("devices", "List the values of --device on this machine");
  const auto json = std::make_shared<bool>(false);
  add_json(*sub, *json);
  sub->footer(examples("  sfnn devices\n  sfnn devices --json"));
  sub->callback([json, &code] { code = run_devices(*json); });
}

}  // namespace sfnn
