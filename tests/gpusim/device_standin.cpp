// Device queries, errors and the profiler's switch: stand-ins for the runtime's functions.
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

#include <cstdio>

#include "tests/gpusim/simulator.hpp"

using sfnn::gpusim::Driver;
using sfnn::gpusim::kMultiprocessors;
using sfnn::gpusim::kWarpSize;
using sfnn::gpusim::Simulator;

namespace {

struct ErrorText {
  cudaError_t error;
  const char *name, *text;
};
constexpr ErrorText kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidPtx, "cudaErrorInvalidPtx", "a PTX JIT compilation failed"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorIllegalState, "cudaErrorIllegalState",
     "the operation cannot be performed in the present state"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", "misaligned address"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorDevicesUnavailable, "cudaErrorDevicesUnavailable",
     "CUDA-capable device(s) is/are busy or unavailable"},
    {cudaErrorECCUncorrectable, "cudaErrorECCUncorrectable", "uncorrectable ECC error encountered"},
    {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cudaErrorStreamCaptureMerge, "cudaErrorStreamCaptureMerge",
     "operation would result in a merge of separate capture sequences"},
    {cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched",
     "capture was not ended in the same stream as it began"},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined",
     "capturing stream has unjoined work"},
    {cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation",
     "dependency created on uncaptured work in another stream"},
    {cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
};
constexpr ErrorText kUnknown = {cudaErrorUnknown, "cudaErrorUnknown",
                                "an error the simulator has no text for"};

const ErrorText& find(cudaError_t error) {
  for (const auto& e : kErrors)
    if (e.error == error) return e;
  return kUnknown;
}

int capability() { return Simulator::get().compute_capability(); }

cudaError_t mark_profiler(bool on) {
  Simulator& sim = Simulator::get();
  const auto guard = sim.lock();
  sim.calls.profiler.push_back({on, sim.records.size()});
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaGetLastError() { return Simulator::get().take_last_error(/*clear=*/true); }
cudaError_t cudaPeekAtLastError() { return Simulator::get().take_last_error(/*clear=*/false); }
const char* cudaGetErrorName(cudaError_t error) { return find(error).name; }
const char* cudaGetErrorString(cudaError_t error) { return find(error).text; }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  switch (Simulator::get().driver) {
    case Driver::kNone:  // the runtime does not tell it from an old one
    case Driver::kOld:
      return Simulator::get().fail(cudaErrorInsufficientDriver);
    case Driver::kNoDevice:
      return Simulator::get().fail(cudaErrorNoDevice);
    case Driver::kNoCode:
    case Driver::kBusy:
    case Driver::kBroken:
    case Driver::kUsable:
      break;
  }
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  Simulator& sim = Simulator::get();
  if (device != 0) return sim.fail(cudaErrorInvalidDevice);
  if (sim.driver == Driver::kBusy) return sim.fail(cudaErrorDevicesUnavailable);
  if (sim.driver == Driver::kBroken) return sim.fail(cudaErrorECCUncorrectable);
  return cudaSuccess;
}
cudaError_t cudaInitDevice(int device, unsigned, unsigned) { return cudaSetDevice(device); }
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
cudaError_t cudaDeviceReset() {
  Simulator::get().clear_fault();
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  const Driver driver = Simulator::get().driver;
  *version = driver == Driver::kNone ? 0 : driver == Driver::kOld ? 12080 : CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = kMultiprocessors;
      break;
    case cudaDevAttrWarpSize:
      *value = kWarpSize;
      break;
    case cudaDevAttrMaxThreadsPerBlock:
      *value = 1024;
      break;
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY:
      *value = 1024;
      break;
    case cudaDevAttrMaxBlockDimZ:
      *value = 64;
      break;
    case cudaDevAttrMaxGridDimX:
      *value = 0x7fffffff;
      break;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      *value = 65535;
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = 2048;
      break;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      *value = 32;
      break;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      *value = 65536;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = 48 << 10;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = (capability() >= 90 ? 227 : 163) << 10;
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = (capability() >= 90 ? 228 : 164) << 10;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = capability() / 10;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = capability() % 10;
      break;
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate:
      *value = 1000000;
      break;
    case cudaDevAttrGlobalMemoryBusWidth:
      *value = 256;
      break;
    case cudaDevAttrL2CacheSize:
      *value = 4 << 20;
      break;
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrMemoryPoolsSupported:
      *value = 1;
      break;
    default:
      std::fprintf(stderr, "gpusim: device attribute %d is unknown\n", int(attribute));
      return Simulator::get().fail(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  if (device != 0) return Simulator::get().fail(cudaErrorInvalidDevice);
  *p = {};
  std::snprintf(p->name, sizeof p->name, "PTX simulator (sm_%d)", capability());
  p->totalGlobalMem = Simulator::get().memory.total();
  p->major = capability() / 10;
  p->minor = capability() % 10;
  p->multiProcessorCount = kMultiprocessors;
  p->warpSize = kWarpSize;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 0x7fffffff;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->maxThreadsPerMultiProcessor = 2048;
  p->maxBlocksPerMultiProcessor = 32;
  p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->sharedMemPerBlock = 48 << 10;
  p->sharedMemPerBlockOptin = std::size_t(capability() >= 90 ? 227 : 163) << 10;
  p->sharedMemPerMultiprocessor = std::size_t(capability() >= 90 ? 228 : 164) << 10;
  p->memoryBusWidth = 256;
  p->l2CacheSize = 4 << 20;
  p->unifiedAddressing = 1;
  p->memoryPoolsSupported = 1;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* id, int bytes, int) {
  std::snprintf(id, std::size_t(bytes), "0000:00:00.0");
  return cudaSuccess;
}

cudaError_t cudaProfilerStart() { return mark_profiler(true); }
cudaError_t cudaProfilerStop() { return mark_profiler(false); }

}  // extern "C"
