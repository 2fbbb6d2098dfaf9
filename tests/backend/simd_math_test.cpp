// Vector exp, sigmoid and Philox on every instruction set that this machine has.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "host/backend/cpu/simd.hpp"
#include "kernels/philox.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/backend/simd_math_test.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once per instruction set.
#include "host/backend/cpu/philox-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace sfnn {
namespace HWY_NAMESPACE {

void exp_all(const std::vector<float>& x, std::vector<float>& out) {
  for_vectors(std::int64_t(x.size()), [&](auto lanes, std::int64_t i) HWY_ATTR {
    lanes.store(exp_of(lanes.load(x.data() + i)), out.data() + i);
  });
}

void sigmoid_all(const std::vector<float>& x, std::vector<float>& out) {
  for_vectors(std::int64_t(x.size()), [&](auto lanes, std::int64_t i) HWY_ATTR {
    lanes.store(sigmoid_of(lanes.load(x.data() + i)), out.data() + i);
  });
}

std::vector<std::uint32_t> words(const DrawKey& key, std::uint32_t example, std::uint32_t particle,
                                 std::int64_t first, std::int64_t count) {
  std::vector<std::uint32_t> out(kDrawChunk);
  Words(key).fill(example, particle, first, count, out.data());
  out.resize(std::size_t(count));
  return out;
}

std::vector<float> uniforms(const std::vector<std::uint32_t>& from) {
  std::vector<float> out(from.size());
  for (std::size_t i = 0; i < from.size(); i += kFloatLanes)
    hn::StoreU(uniform_of(from.data() + i), F32(), out.data() + i);
  return out;
}

}  // namespace HWY_NAMESPACE
}  // namespace sfnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "tests/support/targets.hpp"

namespace sfnn {
HWY_EXPORT(exp_all);
HWY_EXPORT(sigmoid_all);
HWY_EXPORT(words);
HWY_EXPORT(uniforms);

namespace {

class SimdMath : public InstructionSetTest {};

double units_in_last_place(float actual, double expected) {
  const double ulp = std::ldexp(1.0, std::max(std::ilogb(expected), -126) - 23);
  return std::abs(double(actual) - expected) / ulp;
}

std::vector<float> sweep(float low, float high, std::int64_t steps) {
  std::vector<float> x;
  for (std::int64_t i = 0; i <= steps; ++i)
    x.push_back(float(double(low) + (double(high) - double(low)) * double(i) / double(steps)));
  return x;
}

TEST_P(SimdMath, ExpIsWithinTwoUnitsInTheLastPlace) {
  for (const std::vector<float>& x : {sweep(-86.5f, 88.72f, 1'000'003), sweep(-1, 1, 500'001)}) {
    std::vector<float> y(x.size());
    HWY_DYNAMIC_DISPATCH(exp_all)(x, y);
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      worst = std::max(worst, units_in_last_place(y[i], std::exp(double(x[i]))));
    EXPECT_LE(worst, 2.0);
  }
}

TEST_P(SimdMath, ExpAtTheEdges) {
  const float inf = INFINITY;
  const std::vector<float> x{-inf, -1000, -88, 0, -0.0f, 89, 1000, inf, NAN};
  std::vector<float> y(x.size());
  HWY_DYNAMIC_DISPATCH(exp_all)(x, y);
  for (int i : {0, 1, 2}) EXPECT_EQ(y[std::size_t(i)], 0) << x[std::size_t(i)];
  for (int i : {3, 4}) EXPECT_EQ(y[std::size_t(i)], 1);
  for (int i : {5, 6, 7}) EXPECT_EQ(y[std::size_t(i)], inf) << x[std::size_t(i)];
  EXPECT_TRUE(std::isnan(y[8]));
}

TEST_P(SimdMath, SigmoidIsAccurateAndSaturates) {
  const std::vector<float> x = sweep(-85, 100, 1'000'003);
  std::vector<float> y(x.size());
  HWY_DYNAMIC_DISPATCH(sigmoid_all)(x, y);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    worst = std::max(worst, units_in_last_place(y[i], 1 / (1 + std::exp(-double(x[i])))));
  EXPECT_LE(worst, 4.0);  // exp, the sum and the quotient each round
  const std::vector<float> ends{-INFINITY, -500, 500, INFINITY, NAN};
  std::vector<float> values(ends.size());
  HWY_DYNAMIC_DISPATCH(sigmoid_all)(ends, values);
  EXPECT_EQ(values[0], 0);
  EXPECT_EQ(values[1], 0);
  EXPECT_EQ(values[2], 1);
  EXPECT_EQ(values[3], 1);
  EXPECT_TRUE(std::isnan(values[4]));
}

TEST_P(SimdMath, WordsAreThoseOfPhilox) {
  const DrawKey key{0x123456789ABCDEF0u, kMaxStep, kSiteInitWeights};
  for (std::int64_t first : {0, 4, 256, 1 << 20}) {
    for (std::int64_t count : {1, 3, 4, 15, 16, 17, 33, 64, 200, 256}) {
      const auto actual = HWY_DYNAMIC_DISPATCH(words)(key, 0xFFFFFFFFu, 99'999, first, count);
      for (std::int64_t i = 0; i < count; ++i)
        ASSERT_EQ(actual[std::size_t(i)], draw_word(key, 0xFFFFFFFFu, 99'999, first + i))
            << "unit " << first << " + " << i << " of " << count;
    }
  }
}

TEST_P(SimdMath, UniformsAreExact) {
  std::vector<std::uint32_t> from(4096);
  for (std::size_t i = 0; i < from.size(); ++i)
    from[i] = draw_word({7, 0, 0}, std::uint32_t(i), 0, 0) >> (i % 32);
  from[0] = 0;
  from[1] = 0xFFFFFFFFu;
  from[2] = 0x7FFFFFFFu;
  from[3] = 0x80000080u;
  const std::vector<float> actual = HWY_DYNAMIC_DISPATCH(uniforms)(from);
  for (std::size_t i = 0; i < from.size(); ++i)
    ASSERT_EQ(actual[i], uniform_from_word(from[i])) << from[i];
}

SFNN_INSTANTIATE_FOR_INSTRUCTION_SETS(SimdMath);

}  // namespace
}  // namespace sfnn
#endif  // HWY_ONCE
