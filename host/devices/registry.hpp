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
  bool plain = false;           // the CPU's plain path: dense products, no packing; the oracle
  int threads = 0;              // 0: as many as there are cores
  std::string math = "fp32";    // of the GPU's products: fp32, tf32 or bf16x3
  bool graph = true;            // replay a training step as a CUDA graph; false: launch by launch
};

// Throws ConfigError where there is no such device. note: in one line, which device was taken and
// why.
std::unique_ptr<Backend> make_backend(const BackendOptions&, std::string* note = nullptr);

// What --device can be set to here. why_no_gpu: in one sentence, where there is none among them;
// else empty.
std::vector<DeviceInfo> list_devices(std::string* why_no_gpu = nullptr);

}  // namespace sfnn
