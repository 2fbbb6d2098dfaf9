// What a test may ask of the simulator, beyond calling CUDA. Only tests that run nowhere else
// (sfnn_cuda_test with SIM_ONLY) may include this.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/gpusim/block.hpp"
#include "tests/gpusim/fault.hpp"

namespace sfnn::gpusim {

// Up or down through the threads of a block, and through the blocks of a grid. The environment
// variable SFNN_GPUSIM_ORDER=up|down sets where a program begins.
ThreadOrder set_thread_order(ThreadOrder order);  // returns the one before

// The first thing a kernel or a library call did wrong. Until it is cleared every CUDA call returns
// an error, as on a device.
const std::optional<Fault>& last_fault();
void clear_fault();

// cudaMalloc fails beyond this many bytes.
void set_device_memory(std::size_t bytes);

// Whether PTX can be simulated: the error, or an empty string.
std::string check_ptx(const std::string& text);

struct BufferTraffic {
  std::uint64_t base;  // of the allocation
  std::size_t bytes;   // its size
  Sectors loads, stores;
};

// One kernel launch or one matrix product; a replayed graph adds its own.
struct LaunchRecord {
  std::string kernel;  // sfnn::sample_hidden_kernel, cublasSgemm
  bool is_gemm = false;
  Dim3 grid{}, block{};                           // of a kernel
  std::int64_t m = 0, n = 0, k = 0;               // of a product
  std::uint64_t instructions = 0;                 // executed, summed over threads
  std::uint64_t load_bytes = 0, store_bytes = 0;  // asked of global memory by threads
  std::vector<BufferTraffic> buffers;

  std::uint64_t sectors_by_block() const;  // loads and stores
  std::uint64_t sectors_by_launch() const;
};

const std::vector<LaunchRecord>& launches();
void clear_launches();

}  // namespace sfnn::gpusim
