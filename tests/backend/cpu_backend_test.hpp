// The production CPU path and the plain one, side by side, on every instruction set of this
// machine. Both keep their memory on the host, so that the tests may look at it.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "host/backend/cpu/cpu_backend.hpp"
#include "host/backend/plain/plain_backend.hpp"
#include "tests/support/random.hpp"
#include "tests/support/targets.hpp"

namespace sfnn {

using Floats = std::vector<float>;

// Empty, one, odd, whole vectors and words, the paper's own widths, more than one chunk of units.
struct Shape {
  std::int64_t N, M, H;
};
inline const Shape kShapes[] = {{0, 3, 5},  {1, 1, 1},   {2, 3, 0},   {3, 1, 7},    {2, 5, 8},
                                {3, 7, 31}, {2, 16, 64}, {5, 13, 65}, {4, 20, 200}, {2, 3, 517}};

inline std::vector<std::uint8_t> coins(std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint8_t> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(std::uint8_t(random.integer(0, 1)));
  return values;
}

// About a third of the rows, ascending.
inline std::vector<std::int32_t> some_rows(std::int64_t rows, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::int32_t> index;
  index.reserve(std::size_t(rows + 1));  // a null index would mean all rows
  for (std::int64_t r = 0; r < rows; ++r)
    if (random.integer(0, 2) == 0) index.push_back(std::int32_t(r));
  return index;
}

inline ConstMatrix view(const Floats& values, std::int64_t rows, std::int64_t cols) {
  return {values.data(), rows, cols};
}
inline Matrix view(Floats& values, std::int64_t rows, std::int64_t cols) {
  return {values.data(), rows, cols};
}

inline void expect_near(const Floats& actual, const Floats& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    ASSERT_LE(std::abs(double(actual[i]) - double(expected[i])),
              tolerance * std::max(1.0, std::abs(double(expected[i]))))
        << "at " << i << ": " << actual[i] << ", expected " << expected[i];
}

class CpuBackendTest : public InstructionSetTest {
 protected:
  // op(backend) -> Floats on both, to be equal within `tolerance`, relative above 1.
  template <class Op>
  void expect_same(double tolerance, const Op& op) {
    expect_near(op(cpu_), op(plain_), tolerance);
  }

  template <class Body>  // body(shape, seed)
  void for_shapes(const Body& body) {
    std::uint64_t seed = 100;
    for (const Shape& shape : kShapes) {
      SCOPED_TRACE(testing::Message() << "N=" << shape.N << " M=" << shape.M << " H=" << shape.H);
      body(shape, seed += 10);
    }
  }

  CpuBackend cpu_{1};
  PlainBackend plain_{1};
};

struct OwnedBits {  // a 0/1 matrix in a backend's own storage
  OwnedBits(Backend& backend, const std::vector<std::uint8_t>& values, std::int64_t rows,
            std::int64_t cols)
      : buffer(backend, backend.bits_bytes(rows, cols)), bits{buffer.data(), rows, cols} {
    backend.upload_bits(values, bits);
  }
  Buffer buffer;
  Bits bits;
};

constexpr float kUntouched = 12345;

}  // namespace sfnn
