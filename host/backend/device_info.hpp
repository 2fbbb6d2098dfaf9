// A device by its name.
#pragma once

#include <string>

namespace sfnn {

struct DeviceInfo {
  std::string name;         // as --device takes it
  std::string description;  // "NVIDIA H100, compute capability 9.0, ..."
};

}  // namespace sfnn
