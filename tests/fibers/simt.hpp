// Lets g++ compile the kernels (kernels/*.cuh) and run them with one fiber per CUDA thread, so that
// the address, undefined-behaviour and thread sanitizers watch them. The build includes it before
// all else.
//
// What this proves and what not: indexing, synchronisation and logic of the source, yes; nvcc's
// code, the device's arithmetic and the launchers, no: those are the simulator's (tests/gpusim).
// To the thread sanitizer every CUDA thread is a thread of its own: barriers order memory, shuffles
// do not, nor does the end of a block. So it reports races inside a block and between blocks.
#pragma once

#include <curand_kernel.h>  // before the macros below: it declares threadIdx for host compilers

#include <cstdint>
#include <cstring>
#include <functional>
#include <source_location>
#include <stdexcept>

namespace sfnn::simt {

// What a GPU would answer with a hang or with garbage: threads that wait for one another in vain,
// or meet at different places.
class Fault : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// In which the blocks of a grid and the threads of a block take turns. A correct kernel gives the
// same bits in both.
enum class Order { ascending, descending };

// Runs `body`, which calls the kernel, once for each CUDA thread. Throws Fault.
void launch(dim3 grid, dim3 block, Order order, const std::function<void()>& body);

// Indices of the running CUDA thread.
dim3 thread_index();
dim3 block_index();
dim3 block_size();
dim3 grid_size();

void barrier(const std::source_location& place);
// What lane (own ^ lane_mask) of the warp hands in.
std::uint64_t exchange(unsigned members, std::uint64_t value, unsigned lane_mask,
                       const std::source_location& place);

}  // namespace sfnn::simt

#define threadIdx (::sfnn::simt::thread_index())
#define blockIdx (::sfnn::simt::block_index())
#define blockDim (::sfnn::simt::block_size())
#define gridDim (::sfnn::simt::grid_size())

#define __launch_bounds__(...)

#undef __shared__
#ifdef __SANITIZE_THREAD__
#define __shared__ static thread_local  // each block runs on an OS thread of its own: fresh memory
#else
#define __shared__ static  // blocks run one after another; the address sanitizer adds red zones
#endif

inline void __syncthreads(const std::source_location& place = std::source_location::current()) {
  sfnn::simt::barrier(place);
}

template <class T>
T __shfl_xor_sync(unsigned members, T value, int lane_mask,
                  const std::source_location& place = std::source_location::current()) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = sfnn::simt::exchange(members, bits, unsigned(lane_mask), place);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
