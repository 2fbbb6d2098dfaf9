// A kernel against the plain backend, whose memory is the host's: both read the same vectors.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "host/backend/backend.hpp"
#include "host/devices/registry.hpp"
#include "tests/fibers/simt.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/random.hpp"

namespace sfnn {

using Floats = std::vector<float>;

// Two blocks of two warps, if a kernel takes any size: the tests' few rows make them stride over
// the grid, blocks could race, and the thread sanitizer, slow to make a thread, makes few.
constexpr unsigned kBlocks = 2, kFewThreads = 64;

inline Floats random_bits(std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  Floats bits(count);
  for (float& bit : bits) bit = float(random.integer(0, 1));
  return bits;
}

inline Matrix matrix(Floats& data, std::int64_t cols) {
  return {data.data(), std::int64_t(data.size()) / cols, cols};
}
inline ConstMatrix matrix(const Floats& data, std::int64_t cols) {
  return {data.data(), std::int64_t(data.size()) / cols, cols};
}

// The plain backend keeps units as floats, and so does the kernel's float form.
inline ConstBits bits(const Floats& h, std::int64_t cols) {
  return {reinterpret_cast<const std::byte*>(h.data()), std::int64_t(h.size()) / cols, cols};
}

// What `kernel(out)` makes of `out`: the same bits whichever way the threads take turns.
template <class T, class Kernel>
std::vector<T> run_kernel(dim3 grid, unsigned threads, const std::vector<T>& out,
                          const Kernel& kernel) {
  const auto run = [&](simt::Order order) {
    std::vector<T> result = out;
    simt::launch(grid, threads, order, [&] { kernel(result); });
    return result;
  };
  const std::vector<T> result = run(simt::Order::ascending), again = run(simt::Order::descending);
  EXPECT_EQ(std::memcmp(result.data(), again.data(), result.size() * sizeof(T)), 0)
      << "the result depends on the order of the threads";
  return result;
}

class FiberTest : public testing::Test {
 protected:
  // The same op of the plain backend on a copy of `out`.
  template <class T, class Op>
  Vector plain(std::vector<T> out, const Op& op) {
    op(*plain_, out);
    return {out.begin(), out.end()};
  }

  std::unique_ptr<Backend> plain_ = make_backend({.device = "cpu", .plain = true, .threads = 1});
};

}  // namespace sfnn
