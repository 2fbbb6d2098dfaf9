// The floats that an op leaves on the CUDA backend and on the plain CPU path.
#pragma once

#include <gtest/gtest.h>

#include "tests/support/backends.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/random.hpp"
#include "tests/support/run_pass.hpp"

namespace sfnn {

inline Vector as_double(const std::vector<float>& values) { return {values.begin(), values.end()}; }

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
