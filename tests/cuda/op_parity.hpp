// The floats that an op leaves on the CUDA backend and on the plain CPU path.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "host/devices/registry.hpp"
#include "kernels/grid.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/random.hpp"
#include "tests/support/run_pass.hpp"

namespace sfnn {

inline Vector as_double(const std::vector<float>& values) { return {values.begin(), values.end()}; }

// More items than a launch has room for, if a block has this many of them: its loop goes round a
// second time. In the simulator, of two multiprocessors, 300 rows of a warp each.
inline std::int64_t beyond_one_wave(std::int64_t items_per_block = kWarpsPerBlock) {
  int multiprocessors = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0),
            cudaSuccess);
  const std::int64_t places = multiprocessors * kBlocksPerMultiprocessor * items_per_block;
  return places + places / 8 + 12;
}

class OpParity : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Backend> cpu_ = make_backend({.device = "cpu", .plain = true, .threads = 1});
  std::unique_ptr<Backend> gpu_ = make_test_backend(GetParam());

  // The floats that `op` leaves in `count` floats of memory, on both backends.
  template <class Op>
  void expect_equal(std::int64_t count, double tolerance, const char* what, const Op& op) {
    const auto run = [&](Backend& backend) {
      Buffer out(backend, count * sizeof(float));
      op(backend, out.floats());
      return download(backend, out.floats(), count);
    };
    expect_close(run(*gpu_), as_double(run(*cpu_)), tolerance, what);
  }
};

}  // namespace sfnn
