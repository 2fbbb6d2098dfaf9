// A device array for these tests, with no help from the product's own wrappers.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <vector>

namespace sfnn::probes {

#define SFNN_ASSERT_CUDA(expression) \
  ASSERT_EQ(cudaSuccess, (expression)) << cudaGetErrorString(cudaPeekAtLastError())

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t size) : size_(size) {
    EXPECT_EQ(cudaSuccess, cudaMalloc(reinterpret_cast<void**>(&data_), size * sizeof(T)));
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    EXPECT_EQ(cudaSuccess,
              cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() { return data_; }
  void fill_zero() { EXPECT_EQ(cudaSuccess, cudaMemset(data_, 0, size_ * sizeof(T))); }
  std::vector<T> to_host() const {
    std::vector<T> values(size_);
    EXPECT_EQ(cudaSuccess,
              cudaMemcpy(values.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

// Reproducible values in [low, high).
inline std::vector<float> values(std::size_t size, float low, float high) {
  std::vector<float> v(size);
  std::uint64_t state = 88172645463325252ull;
  for (float& x : v) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    x = low + (high - low) * float(state >> 40) / float(1 << 24);
  }
  return v;
}

}  // namespace sfnn::probes
