// Which backends a test runs over: the CPU's, or CUDA's if it is built for that.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "host/backend/backend.hpp"
#include "host/devices/registry.hpp"
#include "tests/support/threads.hpp"

namespace sfnn {

#ifdef SFNN_TEST_CUDA
inline auto backends_under_test() { return testing::Values("cuda_fp32", "cuda_bf16x3"); }
#else
inline auto backends_under_test() { return testing::Values("plain", "cpu"); }
#endif

inline std::unique_ptr<Backend> make_test_backend(const std::string& name, bool graph = false) {
  if (name.rfind("cuda_", 0) == 0)
    return make_backend({.device = "cuda", .math = name.substr(5), .graph = graph});
  return make_backend({.device = "cpu", .plain = name == "plain", .threads = test_threads(1)});
}

}  // namespace sfnn
