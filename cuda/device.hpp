// Which devices there are, and why one cannot be used.
#pragma once

#include <sfnn/device.hpp>
#include <string>
#include <vector>

namespace sfnn {

// Empty if the CUDA device of this name can be used; else one sentence that says why not. Throws
// ConfigError if there are devices, but none of this name.
std::string why_no_cuda_device(const std::string& name);

// If there are none, why_none says why in one sentence.
std::vector<DeviceInfo> list_cuda_devices(std::string& why_none);

int cuda_device_id(const std::string& name);  // "cuda" -> 0, "cuda:1" -> 1; throws ConfigError

std::string cuda_version_text(int version);  // 13000 -> "13.0"
std::string cuda_toolkit();                  // what it was built with: "CUDA 13.0, cuBLAS 13.0.2"

}  // namespace sfnn
