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
// variable SFNN_GPUSIM_ORDER=up|down sets the initial order.
ThreadOrder set_thread_order(ThreadOrder order);  // returns the one before

// The first thing a kernel or a library call did wrong. Until it is cleared every CUDA call returns
// an error, as on a device.
const std::optional<Fault>& last_fault();
void clear_fault();

// When the work of a stream runs.
enum class StreamOrder {
  kAtOnce,       // when it is enqueued
  kLate,         // when something waits for it, with as little of other streams' work as possible
  kOthersFirst,  // when something waits for it, after the other streams' work as far as events
                 // allow
};
StreamOrder set_stream_order(StreamOrder order);  // returns the one before

// cudaMalloc fails beyond this many bytes. The environment variable SFNN_GPUSIM_MEMORY sets where
// a program begins.
void set_device_memory(std::size_t bytes);

// A machine without usable CUDA; SFNN_GPUSIM_DRIVER=none|old|no-device|no-code|busy|broken for a
// whole program. kNoCode: the GPU is of an architecture that the program was not compiled for;
// kBusy: another process has it for itself; kBroken: it answers with an error of its own.
enum class Driver { kUsable, kNone, kOld, kNoDevice, kNoCode, kBusy, kBroken };
void set_driver(Driver driver);

// Calls of the runtime since the last clear_calls.
struct Calls {
  int waits = 0;        // by the host for the device: streams, events, copies from pageable memory
  int allocations = 0;  // of device or page-locked memory, and releases; products without a
                        // workspace of the user's
  struct Copy {
    std::uint64_t to = 0;
    std::size_t bytes = 0;
  };
  std::vector<Copy> uploads;  // from page-locked memory to the device
  struct ProfilerMark {
    bool on = false;
    std::size_t launches = 0;  // recorded before it, counted as by launches()
  };
  std::vector<ProfilerMark> profiler;
};
const Calls& calls();
void clear_calls();

// Whether PTX can be simulated: the error, or an empty string.
std::string check_ptx(const std::string& text);

struct BufferTraffic {
  std::uint64_t base;  // address of the allocation
  std::size_t bytes;   // its size
  Sectors loads, stores;
};

// One kernel launch or one matrix product; a replayed graph adds its own.
struct LaunchRecord {
  std::string kernel;  // sfnn::sample_hidden_kernel, cublasSgemm
  bool is_gemm = false;
  Dim3 grid{}, block{};                           // of a kernel
  std::int64_t m = 0, n = 0, k = 0;               // of a product
  std::size_t alignment = 0;                      // of a product's operands in memory, up to 256
  std::uint64_t instructions = 0;                 // executed, summed over threads
  std::uint64_t load_bytes = 0, store_bytes = 0;  // asked of global memory by threads
  std::vector<BufferTraffic> buffers;

  std::uint64_t sectors_by_block() const;  // loads and stores
  std::uint64_t sectors_by_launch() const;
};

const std::vector<LaunchRecord>& launches();
void clear_launches();

}  // namespace sfnn::gpusim
