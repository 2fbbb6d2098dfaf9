// The scalar types of PTX and how their values lie in a register slot.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>

namespace sfnn::gpusim {

// A register of any type: the value stands in the low bytes, the rest is zero.
using Slot = std::uint64_t;

enum class Type : std::uint8_t {
  kPred,
  kB8,
  kU8,
  kS8,
  kB16,
  kU16,
  kS16,
  kF16,
  kBf16,
  kB32,
  kU32,
  kS32,
  kF32,
  kTf32,
  kF16x2,
  kBf16x2,
  kB64,
  kU64,
  kS64,
  kF64,
  kF32x2,
};

enum class Rounding : std::uint8_t { kNearest, kZero, kDown, kUp, kNearestAway };

std::optional<Type> type_named(std::string_view name);
int bytes_of(Type type);
bool is_signed(Type type);
bool is_float(Type type);  // f32 and f64, the types C++ computes in

template <class T>
T get(Slot slot) {
  T value;
  std::memcpy(&value, &slot, sizeof value);
  return value;
}

template <class T>
void put(Slot& slot, T value) {
  slot = 0;
  std::memcpy(&slot, &value, sizeof value);
}

// f(T{}) for the C++ type of an integer type; .b types count as unsigned.
template <class F>
auto visit_integer(Type type, F f) -> decltype(f(std::uint32_t{})) {
  switch (type) {
    case Type::kB8:
    case Type::kU8:
      return f(std::uint8_t{});
    case Type::kS8:
      return f(std::int8_t{});
    case Type::kB16:
    case Type::kU16:
      return f(std::uint16_t{});
    case Type::kS16:
      return f(std::int16_t{});
    case Type::kB32:
    case Type::kU32:
      return f(std::uint32_t{});
    case Type::kS32:
      return f(std::int32_t{});
    case Type::kB64:
    case Type::kU64:
      return f(std::uint64_t{});
    case Type::kS64:
      return f(std::int64_t{});
    default:
      return {};
  }
}

template <class F>
auto visit_float(Type type, F f) -> decltype(f(float{})) {
  switch (type) {
    case Type::kF32:
      return f(float{});
    case Type::kF64:
      return f(double{});
    default:
      return {};
  }
}

// The 16-bit floats exist as bits only; arithmetic on them goes through float or double.
float half_to_float(std::uint16_t bits);
inline float bf16_to_float(std::uint16_t bits) { return get<float>(Slot(bits) << 16); }
std::uint16_t to_half(double value, Rounding rounding);
std::uint16_t to_bf16(double value, Rounding rounding);
float to_tf32(float value, Rounding rounding);

// Sets the rounding direction of the C++ floating-point environment for a scope. Outside of one it
// is to nearest, so asking for that costs nothing.
class RoundingScope {
 public:
  explicit RoundingScope(Rounding rounding) : changed_(rounding != Rounding::kNearest) {
    if (changed_) set(rounding);
  }
  ~RoundingScope() {
    if (changed_) set(Rounding::kNearest);
  }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

 private:
  static void set(Rounding rounding);
  bool changed_;
};

}  // namespace sfnn::gpusim
