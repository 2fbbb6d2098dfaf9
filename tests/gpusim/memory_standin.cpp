// Allocation, copying and setting of memory: stand-ins for the runtime's functions.
#include <cuda_runtime_api.h>

#include <cstring>

#include "tests/gpusim/simulator.hpp"
#include "tests/gpusim/stream.hpp"
#include "tests/gpusim/stream_queue.hpp"

using sfnn::gpusim::Allocation;
using sfnn::gpusim::Fault;
using sfnn::gpusim::FaultKind;
using sfnn::gpusim::MemoryKind;
using sfnn::gpusim::NodeKind;
using sfnn::gpusim::Simulator;
using sfnn::gpusim::StreamQueue;
using sfnn::gpusim::submit;

namespace {

cudaError_t allocate(void** pointer, std::size_t bytes, MemoryKind kind) {
  Simulator& sim = Simulator::get();
  const auto guard = sim.lock();
  ++sim.calls.allocations;
  if (sim.sticky()) return sim.sticky();
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  *pointer = sim.memory.allocate(bytes, kind);
  return *pointer ? cudaSuccess : sim.fail(cudaErrorMemoryAllocation);
}

cudaError_t release(void* pointer, MemoryKind kind) {
  Simulator& sim = Simulator::get();
  const auto guard = sim.lock();
  if (!pointer) return cudaSuccess;
  ++sim.calls.allocations;
  StreamQueue::drain_all();  // as on a device, which waits for those who still use it
  return sim.memory.free(pointer, kind) ? cudaSuccess : sim.fail(cudaErrorInvalidValue);
}

// The device allocation a range lies in; null for host memory. A range that only begins in one is
// an error of its own.
Allocation* device_range(const void* pointer, std::size_t bytes, const char* call) {
  Simulator& sim = Simulator::get();
  const auto address = std::uint64_t(pointer);
  Allocation* a = sim.memory.find(address, 1);
  if (!a || a->kind == MemoryKind::kPinned) return nullptr;
  if (!a->contains(address, bytes))
    throw Fault(FaultKind::kOutOfBounds, std::string(call) + " of " + std::to_string(bytes) +
                                             " bytes from byte " +
                                             std::to_string(address - a->base) +
                                             " of an allocation of " + std::to_string(a->bytes));
  return a;
}

void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (bytes == 0) return;
  Allocation* const target = device_range(to, bytes, "cudaMemcpy");
  Allocation* const source = device_range(from, bytes, "cudaMemcpy");
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (kind != cudaMemcpyDefault &&
      (to_device != (target != nullptr) || from_device != (source != nullptr)))
    throw Fault(FaultKind::kBadCall, "cudaMemcpy: the direction does not fit the pointers");
  const bool source_tracked = source && source->tracks_validity(),
             target_tracked = target && target->tracks_validity();
  const std::size_t at = source ? std::uint64_t(from) - source->base : 0;
  if (source_tracked && target_tracked) {
    target->valid.copy(std::uint64_t(to) - target->base, source->valid, at, bytes);
  } else if (source_tracked) {
    const std::size_t bad = source->valid.first_invalid(at, bytes);
    if (bad != at + bytes)
      throw Fault(FaultKind::kUninitialised, "cudaMemcpy reads uninitialised device memory, byte " +
                                                 std::to_string(bad) + " of " +
                                                 std::to_string(source->bytes));
  }
  std::memmove(to, from, bytes);
  if (target && !source_tracked) Simulator::get().memory.mark_valid(to, bytes);
}

void set(void* to, int value, std::size_t bytes) {
  if (bytes == 0) return;
  if (!device_range(to, bytes, "cudaMemset"))
    throw Fault(FaultKind::kBadCall, "cudaMemset of host memory");
  std::memset(to, value, bytes);
  Simulator::get().memory.mark_valid(to, bytes);
}

cudaError_t symbol_address(char** address, const void* symbol) {
  Simulator& sim = Simulator::get();
  const auto guard = sim.lock();
  return sim.guarded([&] { *address = static_cast<char*>(sim.variable_of(symbol).data()); });
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  if (const auto e = sfnn::gpusim::forbid_while_capturing()) return e;
  return allocate(pointer, bytes, MemoryKind::kDevice);
}
cudaError_t cudaFree(void* pointer) {
  if (const auto e = sfnn::gpusim::forbid_while_capturing()) return e;
  return release(pointer, MemoryKind::kDevice);
}
cudaError_t cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t) {
  if (const auto e = sfnn::gpusim::forbid_while_capturing()) return e;
  return allocate(pointer, bytes, MemoryKind::kDevice);
}
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) {
  if (const auto e = sfnn::gpusim::forbid_while_capturing()) return e;
  return release(pointer, MemoryKind::kDevice);
}
cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
  return allocate(pointer, bytes, MemoryKind::kPinned);
}
cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  return cudaMallocHost(pointer, bytes);
}
cudaError_t cudaFreeHost(void* pointer) { return release(pointer, MemoryKind::kPinned); }
cudaError_t cudaMallocManaged(void** pointer, std::size_t bytes, unsigned) {
  return cudaMallocHost(pointer, bytes);
}

// Pageable memory makes it wait: for the source's sake, or for the result's.
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  Simulator& sim = Simulator::get();
  const bool pageable =
      !sim.memory.find(std::uint64_t(to), 1) || !sim.memory.find(std::uint64_t(from), 1);
  const auto error = submit(stream, NodeKind::kMemcpy, [=] { copy(to, from, bytes, kind); });
  if (pageable) {
    ++sim.calls.waits;
    sfnn::gpusim::finish(stream);
  } else if (kind == cudaMemcpyHostToDevice) {
    sim.calls.uploads.push_back({std::uint64_t(to), bytes});
  }
  return error;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (const auto e = sfnn::gpusim::forbid_while_capturing()) return e;
  return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  return submit(stream, NodeKind::kMemcpy, [=] {
    for (std::size_t row = 0; row < height; ++row)
      copy(static_cast<char*>(to) + row * to_pitch,
           static_cast<const char*>(from) + row * from_pitch, width, kind);
  });
}
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                         std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, nullptr);
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return submit(stream, NodeKind::kMemset, [=] { set(to, value, bytes); });
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  return cudaMemsetAsync(to, value, bytes, nullptr);
}

cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
  char* address = nullptr;
  const auto e = symbol_address(&address, symbol);
  *pointer = address;
  return e;
}
cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes,
                                    std::size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  char* address = nullptr;
  if (const auto e = symbol_address(&address, symbol)) return e;
  return cudaMemcpyAsync(address + offset, from, bytes, kind, stream);
}
cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes,
                               std::size_t offset, cudaMemcpyKind kind) {
  return cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, nullptr);
}
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t bytes,
                                      std::size_t offset, cudaMemcpyKind kind,
                                      cudaStream_t stream) {
  char* address = nullptr;
  if (const auto e = symbol_address(&address, symbol)) return e;
  return cudaMemcpyAsync(to, address + offset, bytes, kind, stream);
}
cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes,
                                 std::size_t offset, cudaMemcpyKind kind) {
  return cudaMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, nullptr);
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const auto& memory = Simulator::get().memory;
  *total = memory.total();
  *free = memory.total() - memory.used();
  return Simulator::get().sticky();
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  const auto guard = Simulator::get().lock();
  const Allocation* a = Simulator::get().memory.find(std::uint64_t(pointer), 1);
  *attributes = {};
  attributes->type = !a                               ? cudaMemoryTypeUnregistered
                     : a->kind == MemoryKind::kPinned ? cudaMemoryTypeHost
                                                      : cudaMemoryTypeDevice;
  attributes->devicePointer = a ? const_cast<void*>(pointer) : nullptr;
  attributes->hostPointer =
      a && a->kind == MemoryKind::kPinned ? const_cast<void*>(pointer) : nullptr;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) {
  static int the_pool;
  *pool = reinterpret_cast<cudaMemPool_t>(&the_pool);
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) { return cudaSuccess; }

}  // extern "C"
