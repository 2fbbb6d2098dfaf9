// bfloat16 as bits: the upper half of a float.
//
// A hidden unit, 0 or 1, is exact in it. A float is the exact sum of three of them (8 bits of
// significand each), so a product of bits and floats takes three bf16 products and loses nothing.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/hd.hpp"

namespace sfnn {

struct Bf16 {
  std::uint16_t bits;
};

SFNN_HD float to_float(Bf16 value) {
  const std::uint32_t wide = std::uint32_t(value.bits) << 16;
  float result;
  std::memcpy(&result, &wide, sizeof result);
  return result;
}

// Rounds to nearest, ties to even; infinities and NaN are kept.
SFNN_HD Bf16 to_bf16(float value) {
  std::uint32_t wide;
  std::memcpy(&wide, &value, sizeof wide);
  if ((wide & 0x7fffffffu) > 0x7f800000u) return {std::uint16_t(wide >> 16 | 0x40u)};
  return {std::uint16_t((wide + 0x7fffu + (wide >> 16 & 1u)) >> 16)};
}

struct Bf16Parts {
  Bf16 part[3];  // largest first
};

SFNN_HD Bf16Parts split_at(float value) {
  Bf16Parts parts{};
  for (Bf16& part : parts.part) {
    part = to_bf16(value);
    value -= to_float(part);
  }
  return parts;
}

// A hidden unit is stored in the type that the products want.
enum class UnitType { f32, bf16 };

SFNN_HD void store_unit(float& to, bool on) { to = on ? 1.0f : 0.0f; }
SFNN_HD void store_unit(Bf16& to, bool on) { to.bits = on ? 0x3f80 : 0; }
SFNN_HD float load_unit(float from) { return from; }
SFNN_HD float load_unit(Bf16 from) { return to_float(from); }

}  // namespace sfnn
