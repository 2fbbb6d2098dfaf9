// The simulated device behind the stand-ins: its memory, its programs, what went wrong so far.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/gpusim/gpusim.hpp"

namespace sfnn::gpusim {

class Simulator {
 public:
  static Simulator& get();

  // Host threads take turns.
  std::unique_lock<std::recursive_mutex> lock() { return std::unique_lock(mutex_); }

  // nvcc's objects register their kernels and variables before main.
  void register_kernel(const void* host, const char* name) { kernel_names_[host] = name; }
  void register_variable(const void* host, const char* name) { variable_names_[host] = name; }

  // Loads the PTX file that has it, on first use. Throws Fault.
  const Kernel& kernel_of(const void* host);
  const GlobalArray& variable_of(const void* host);
  int compute_capability();  // 80: what the PTX was compiled for

  void run(const Kernel& kernel, Dim3 grid, Dim3 block, std::size_t dynamic_shared,
           std::vector<std::uint8_t> params);

  // Runs work and turns a Fault into an error that stays.
  cudaError_t guarded(const std::function<void()>& work);
  cudaError_t fail(cudaError_t error) { return last_error_ = error; }  // one that does not stay
  cudaError_t sticky() const { return fault_ ? sticky_error_ : cudaSuccess; }
  cudaError_t take_last_error(bool clear);

  Memory memory;
  ThreadOrder order = ThreadOrder::kUp;
  StreamOrder stream_order = StreamOrder::kAtOnce;
  Driver driver = Driver::kUsable;
  Calls calls;
  std::vector<LaunchRecord> records;

  const std::optional<Fault>& fault() const { return fault_; }
  void clear_fault();

 private:
  Simulator();
  struct PtxFile {
    std::string path, text;
    std::unique_ptr<Module> module;
  };
  Module& module_with(const std::string& needle, const std::string& what);
  void read_ptx_files();

  std::recursive_mutex mutex_;
  std::unordered_map<const void*, std::string> kernel_names_, variable_names_;
  std::unordered_map<const void*, const Kernel*> kernels_;
  std::vector<PtxFile> files_;
  bool files_read_ = false;
  std::optional<Fault> fault_;
  cudaError_t sticky_error_ = cudaSuccess, last_error_ = cudaSuccess;
  std::uint32_t generation_ = 0;
};

}  // namespace sfnn::gpusim
