// Which devices there are, and a backend for one of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/backend/backend.hpp"
#include "host/backend/device_info.hpp"
#include "host/devices/registry.hpp"

namespace sfnn {

struct BackendOptions {
  std::string device = "auto";  // auto, cpu, cuda, cuda:1
  bool plain = false;           // the CPU's reference path: dense products, no packing
  int threads = 0;              // 0: one per core
  std::string math = "fp32";    // arithmetic of the GPU's products: fp32, tf32 or bf16x3
  bool graph = true;            // replay a training step as a CUDA graph; false: launch by launch
};

// Throws ConfigError if there is no such device. note: which device was taken and why, in one line.
std::unique_ptr<Backend> make_backend(const BackendOptions&, std::string* note = nullptr);

// What --device can be set to here. why_no_gpu: why no GPU is listed, in one sentence; empty if one
// is.
std::vector<DeviceInfo> list_devices(std::string* why_no_gpu = nullptr);

}  // namespace sfnn
