#include "tests/gpusim/types.hpp"

#include <array>
#include <cfenv>
#include <cmath>
#include <limits>
#include <utility>

namespace sfnn::gpusim {
namespace {

struct TypeInfo {
  std::string_view name;
  int bytes;
};

constexpr std::array<TypeInfo, 21> kTypes = {{
    {"pred", 1},  {"b8", 1},     {"u8", 1},  {"s8", 1},  {"b16", 2}, {"u16", 2}, {"s16", 2},
    {"f16", 2},   {"bf16", 2},   {"b32", 4}, {"u32", 4}, {"s32", 4}, {"f32", 4}, {"tf32", 4},
    {"f16x2", 4}, {"bf16x2", 4}, {"b64", 8}, {"u64", 8}, {"s64", 8}, {"f64", 8}, {"f32x2", 8},
}};

// Rounds to a binary float of `fraction` bits and smallest normal exponent `min_exponent`; beyond
// `largest` lies infinity (or `largest` itself if the direction says so).
double round_to_format(double value, int fraction, int min_exponent, double largest,
                       Rounding rounding) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), min_exponent);
  const double units = std::ldexp(value, fraction - exponent);
  double rounded;
  if (rounding == Rounding::kNearestAway) {
    rounded = std::round(units);
  } else {
    const RoundingScope scope(rounding);
    rounded = std::nearbyint(units);
  }
  const double result = std::ldexp(rounded, exponent - fraction);
  if (std::fabs(result) <= largest) return std::copysign(result, value);
  const bool stays_finite = rounding == Rounding::kZero ||
                            (rounding == Rounding::kDown && value > 0) ||
                            (rounding == Rounding::kUp && value < 0);
  return std::copysign(stays_finite ? largest : std::numeric_limits<double>::infinity(), value);
}

}  // namespace

std::optional<Type> type_named(std::string_view name) {
  for (std::size_t i = 0; i < kTypes.size(); ++i)
    if (kTypes[i].name == name) return Type(i);
  return std::nullopt;
}

int bytes_of(Type type) { return kTypes[std::size_t(type)].bytes; }

bool is_signed(Type type) {
  return type == Type::kS8 || type == Type::kS16 || type == Type::kS32 || type == Type::kS64;
}

bool is_float(Type type) { return type == Type::kF32 || type == Type::kF64; }

float half_to_float(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  float magnitude;
  if (exponent == 31)
    magnitude =
        fraction ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
  else if (exponent == 0)
    magnitude = std::ldexp(float(fraction), -24);
  else
    magnitude = std::ldexp(float(1024 + fraction), exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

std::uint16_t to_half(double value, Rounding rounding) {
  if (std::isnan(value)) return 0x7fff;
  const double v = round_to_format(value, 10, -14, 65504, rounding);
  const std::uint16_t sign = std::signbit(v) ? 0x8000 : 0;
  const double magnitude = std::fabs(v);
  if (std::isinf(v)) return sign | 0x7c00;
  if (magnitude < std::ldexp(1.0, -14)) return sign | std::uint16_t(std::ldexp(magnitude, 24));
  const int exponent = std::ilogb(magnitude);
  const int fraction = int(std::ldexp(magnitude, 10 - exponent)) - 1024;
  return std::uint16_t(sign | (exponent + 15) << 10 | fraction);
}

std::uint16_t to_bf16(double value, Rounding rounding) {
  if (std::isnan(value)) return 0x7fff;
  const double largest = std::ldexp(255.0, 120);
  const float v = float(round_to_format(value, 7, -126, largest, rounding));
  Slot slot;
  put(slot, v);
  return std::uint16_t(slot >> 16);
}

float to_tf32(float value, Rounding rounding) {
  if (std::isnan(value)) return value;
  return float(round_to_format(value, 10, -126, std::ldexp(2047.0, 117), rounding));
}

void RoundingScope::set(Rounding rounding) {
  switch (rounding) {
    case Rounding::kZero:
      std::fesetround(FE_TOWARDZERO);
      break;
    case Rounding::kDown:
      std::fesetround(FE_DOWNWARD);
      break;
    case Rounding::kUp:
      std::fesetround(FE_UPWARD);
      break;
    default:
      std::fesetround(FE_TONEAREST);
  }
}

}  // namespace sfnn::gpusim
