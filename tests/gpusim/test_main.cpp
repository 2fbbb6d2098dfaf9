// main of every sfnn_cuda_test, on a device and in the simulator alike.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdio>

namespace {
constexpr int kSkipped = 77;  // CTest's SKIP_RETURN_CODE
}

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error != cudaSuccess || devices == 0) {
    std::printf("skipped: no CUDA device (%s)\n", error ? cudaGetErrorString(error) : "none found");
    return kSkipped;
  }
  const int failed = RUN_ALL_TESTS();
  // An error that no test looked at is a failure too.
  const cudaError_t left = cudaDeviceSynchronize();
  if (left != cudaSuccess)
    std::printf("a CUDA error was left behind: %s\n", cudaGetErrorString(left));
  return failed || left != cudaSuccess;
}
