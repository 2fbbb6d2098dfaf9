// Three bf16 parts carry a float without loss; a hidden unit is exact in one.
#include "kernels/bf16.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/random.hpp"

namespace sfnn {
namespace {

TEST(Bf16, RoundsToTheNearestTiesToEven) {
  EXPECT_EQ(to_float(to_bf16(1.0f)), 1.0f);
  EXPECT_EQ(to_float(to_bf16(1.0f + 0x1p-8f)), 1.0f);                // a tie: to even
  EXPECT_EQ(to_float(to_bf16(1.0f + 3 * 0x1p-8f)), 1.0f + 0x1p-6f);  // a tie: to even, upwards
  EXPECT_EQ(to_float(to_bf16(1.0f + 0x1.02p-8f)), 1.0f + 0x1p-7f);
  EXPECT_EQ(to_float(to_bf16(-2.5f)), -2.5f);
  EXPECT_EQ(to_float(to_bf16(INFINITY)), INFINITY);
  EXPECT_EQ(to_float(to_bf16(std::numeric_limits<float>::max())), INFINITY);
  EXPECT_TRUE(std::isnan(to_float(to_bf16(NAN))));
}

TEST(Bf16, ThreePartsAddUpToTheFloat) {
  Random random(1);
  for (int i = 0; i < 20000; ++i) {
    const float value = float(random.normal() * std::pow(10, random.uniform(-20, 20)));
    const Bf16Parts parts = split_at(value);
    double sum = 0;
    for (Bf16 part : parts.part) sum += double(to_float(part));
    ASSERT_EQ(sum, double(value));
  }
}

TEST(Bf16, HoldsAHiddenUnit) {
  for (bool on : {false, true}) {
    Bf16 narrow;
    float wide;
    store_unit(narrow, on);
    store_unit(wide, on);
    EXPECT_EQ(load_unit(narrow), on ? 1.0f : 0.0f);
    EXPECT_EQ(load_unit(wide), on ? 1.0f : 0.0f);
    EXPECT_EQ(narrow.bits, to_bf16(on ? 1.0f : 0.0f).bits);
  }
}

}  // namespace
}  // namespace sfnn
