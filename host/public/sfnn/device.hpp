// Devices to compute on.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace sfnn {

struct DeviceInfo {
  std::string name;         // as DeviceOptions::device and --device take it
  std::string description;  // "NVIDIA H100, compute capability 9.0, ..."
};

struct DeviceOptions {
  std::string device = "auto";  // auto, cpu, cuda, cuda:1
  bool plain = false;           // the CPU's plain path: dense products, no packing; the oracle
  int threads = 0;              // 0: as many as there are cores
  std::string math = "fp32";    // arithmetic of the GPU's products: fp32, tf32 or bf16x3
  bool graph = true;            // replay a training step as a CUDA graph; false: launch by launch
};

// A device with its threads or its streams. Copies are the same device. It and all that was made on
// it belong to one thread at a time; it lives as long as anything made on it.
class Device {
 public:
  explicit Device(const DeviceOptions& = {});  // throws ConfigError if there is no such device

  std::string name() const;         // "cpu", "cuda"
  std::string description() const;  // "CPU, 8 threads, ..."
  std::string choice() const;       // in one line, which device was taken and why

  struct Impl;  // the library's own
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

// What DeviceOptions::device can be set to here. why_no_gpu: if none of them is a GPU, the reason
// in one sentence; else empty.
std::vector<DeviceInfo> list_devices(std::string* why_no_gpu = nullptr);

}  // namespace sfnn
