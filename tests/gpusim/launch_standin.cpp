// Registration and launch. The __cuda functions are the private ABI between nvcc 13.0's host
// objects and its runtime: another toolkit that changes it fails to link here, loudly.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "tests/gpusim/simulator.hpp"
#include "tests/gpusim/stream.hpp"

using sfnn::gpusim::Dim3;
using sfnn::gpusim::Driver;
using sfnn::gpusim::Kernel;
using sfnn::gpusim::Simulator;

namespace {

constexpr std::size_t kDefaultShared = 48 << 10;

struct Configuration {
  dim3 grid, block;
  std::size_t shared;
  cudaStream_t stream;
};
thread_local std::vector<Configuration> pushed;

// cudaFuncSetAttribute: kernels that may use more shared memory than the default.
std::map<const void*, std::size_t>& shared_limits() {
  static auto& limits = *new std::map<const void*, std::size_t>;
  return limits;
}

std::size_t largest_shared() {
  return (Simulator::get().compute_capability() >= 90 ? 227 : 163) << 10;
}

std::size_t shared_limit(const void* function, const Kernel& kernel) {
  const auto it = shared_limits().find(function);
  return it == shared_limits().end() ? kDefaultShared : kernel.shared_bytes + it->second;
}

Dim3 dims(dim3 d) { return {d.x, d.y, d.z}; }

bool fits(const Kernel& kernel, const void* function, dim3 grid, dim3 block, std::size_t shared) {
  const auto threads = std::uint64_t(block.x) * block.y * block.z;
  const bool grid_ok =
      grid.x && grid.y && grid.z && grid.x <= 0x7fffffff && grid.y <= 65535 && grid.z <= 65535;
  const bool block_ok = threads > 0 && threads <= kernel.max_threads && block.z <= 64;
  return grid_ok && block_ok &&
         kernel.dynamic_shared_offset + shared <= shared_limit(function, kernel);
}

cudaError_t with_kernel(const void* function, const std::function<void(const Kernel&)>& use) {
  Simulator& sim = Simulator::get();
  const auto guard = sim.lock();
  if (sim.driver == Driver::kNoCode) return sim.fail(cudaErrorNoKernelImageForDevice);
  return sim.guarded([&] { use(sim.kernel_of(function)); });
}

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 0; }
void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int, uint3*, uint3*,
                            dim3*, dim3*, int*) {
  Simulator::get().register_kernel(host, name);
}
void __cudaRegisterVar(void**, char* host, char*, const char* name, int, std::size_t, int, int) {
  Simulator::get().register_variable(host, name);
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared,
                                     CUstream_st* stream) {
  pushed.push_back({grid, block, shared, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  const Configuration c = pushed.back();
  pushed.pop_back();
  *grid = c.grid;
  *block = c.block;
  *shared = c.shared;
  *static_cast<cudaStream_t*>(stream) = c.stream;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** args,
                             std::size_t shared, cudaStream_t stream) {
  Simulator& sim = Simulator::get();
  const auto guard = sim.lock();
  if (sim.driver == Driver::kNoCode) return sim.fail(cudaErrorNoKernelImageForDevice);
  const Kernel* kernel = nullptr;
  if (const auto e = sim.guarded([&] { kernel = &sim.kernel_of(function); })) return e;
  if (!fits(*kernel, function, grid, block, shared)) return sim.fail(cudaErrorInvalidConfiguration);
  std::vector<std::uint8_t> params(kernel->param_bytes);
  for (std::size_t n = 0; n < kernel->params.size(); ++n)
    std::memcpy(params.data() + kernel->params[n].offset, args[n], kernel->params[n].bytes);
  return sfnn::gpusim::submit(stream, sfnn::gpusim::NodeKind::kKernel, [=] {
    Simulator::get().run(*kernel, dims(grid), dims(block), shared, params);
  });
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** args,
                               std::size_t shared, cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, args, shared, stream);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                void** args) {
  return cudaLaunchKernel(function, config->gridDim, config->blockDim, args,
                          config->dynamicSmemBytes, config->stream);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return with_kernel(function, [&](const Kernel& kernel) {
    *attributes = {};
    attributes->sharedSizeBytes = kernel.shared_bytes;
    attributes->localSizeBytes = kernel.local_bytes;
    attributes->maxThreadsPerBlock = int(kernel.max_threads);
    attributes->maxDynamicSharedSizeBytes =
        int(shared_limit(function, kernel) - kernel.shared_bytes);
    attributes->numRegs = 32;  // PTX does not say: ptxas chooses
    attributes->ptxVersion = attributes->binaryVersion = Simulator::get().compute_capability();
  });
}
cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  bool too_much = false;
  const auto e = with_kernel(function, [&](const Kernel& kernel) {
    too_much = value < 0 || kernel.shared_bytes + std::size_t(value) > largest_shared();
    if (!too_much) shared_limits()[function] = std::size_t(value);
  });
  return too_much ? Simulator::get().fail(cudaErrorInvalidValue) : e;
}
cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) { return cudaSuccess; }

// By threads and shared memory alone.
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks,
                                                                   const void* function,
                                                                   int threads, std::size_t shared,
                                                                   unsigned) {
  return with_kernel(function, [&](const Kernel& kernel) {
    const std::size_t bytes = kernel.shared_bytes + shared;
    const int warps = (threads + 31) / 32;
    *blocks = warps == 0 || threads > int(kernel.max_threads) ? 0 : std::min(32, 64 / warps);
    if (bytes > 0) *blocks = std::min(*blocks, int(largest_shared() / bytes));
  });
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                          int threads, std::size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared,
                                                                0);
}

}  // extern "C"
