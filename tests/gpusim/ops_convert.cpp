// cvt: between all types, with rounding, saturation and packing into pairs.
#include <cmath>
#include <limits>
#include <utility>

#include "tests/gpusim/form.hpp"

namespace sfnn::gpusim {
namespace {

constexpr std::uint8_t kToIntegral = 1;  // .rni, .rzi, .rmi, .rpi

double rounded_to_integral(double v, Rounding rounding) {
  switch (rounding) {
    case Rounding::kZero:
      return std::trunc(v);
    case Rounding::kDown:
      return std::floor(v);
    case Rounding::kUp:
      return std::ceil(v);
    default:
      return std::nearbyint(v);
  }
}

// Out of range goes to the nearest end, NaN to 0 (64 bits: to the lone top bit).
template <class D, class S>
D integer_from_float(S value, Rounding rounding) {
  const double v = rounded_to_integral(double(value), rounding);
  if (std::isnan(v)) return sizeof(D) == 8 ? D(1ull << 63) : D(0);
  if (v <= double(std::numeric_limits<D>::min())) return std::numeric_limits<D>::min();
  if (v >= std::ldexp(1.0, std::numeric_limits<D>::digits)) return std::numeric_limits<D>::max();
  return D(v);
}

template <class D, class S>
D clamped_integer(S value) {
  if (std::cmp_less(value, std::numeric_limits<D>::min())) return std::numeric_limits<D>::min();
  if (std::cmp_greater(value, std::numeric_limits<D>::max())) return std::numeric_limits<D>::max();
  return D(value);
}

template <class T>
T finished(const Instruction& i, T v) {
  if (i.flush && std::fpclassify(v) == FP_SUBNORMAL) v = std::copysign(T(0), v);
  if (i.saturate) v = v > T(0) ? (v < T(1) ? v : T(1)) : T(0);
  return v;
}

template <class D, class S>
void convert(const Instruction& i, Slot* r) {
  const S value = get<S>(r[i.src[0]]);
  constexpr bool from_float = std::is_floating_point_v<S>, to_float = std::is_floating_point_v<D>;
  if constexpr (!from_float && !to_float) {
    put<D>(r[i.dst[0]], i.saturate ? clamped_integer<D>(value) : D(value));
  } else if constexpr (!to_float) {
    put<D>(r[i.dst[0]], integer_from_float<D>(value, i.rounding));
  } else if constexpr (from_float) {
    const S whole =
        i.detail == kToIntegral ? S(rounded_to_integral(double(value), i.rounding)) : value;
    const RoundingScope scope(i.rounding);
    put<D>(r[i.dst[0]], finished(i, D(whole)));
  } else {
    const RoundingScope scope(i.rounding);
    put<D>(r[i.dst[0]], finished(i, D(value)));
  }
}

// To a 16-bit float from anything that a double holds.
template <class S, std::uint16_t (*narrow)(double, Rounding)>
void convert_narrow(const Instruction& i, Slot* r) {
  put(r[i.dst[0]], narrow(double(get<S>(r[i.src[0]])), i.rounding));
}
// The first operand goes to the high half.
template <std::uint16_t (*narrow)(double, Rounding)>
void convert_pair(const Instruction& i, Slot* r) {
  const std::uint32_t high = narrow(get<float>(r[i.src[0]]), i.rounding);
  const std::uint32_t low = narrow(get<float>(r[i.src[1]]), i.rounding);
  put(r[i.dst[0]], high << 16 | low);
}
template <class D, float (*widen)(std::uint16_t)>
void convert_from_narrow(const Instruction& i, Slot* r) {
  const float value = widen(get<std::uint16_t>(r[i.src[0]]));
  if constexpr (std::is_floating_point_v<D>)
    put<D>(r[i.dst[0]], D(value));
  else
    put<D>(r[i.dst[0]], integer_from_float<D>(value, i.rounding));
}
void convert_tf32(const Instruction& i, Slot* r) {
  put(r[i.dst[0]], to_tf32(get<float>(r[i.src[0]]), i.rounding));
}

template <class F>
Compute visit_arithmetic(Type type, F f) {
  return is_float(type) ? visit_float(type, f) : visit_integer(type, f);
}

Compute pick(Type to, Type from) {
  if (to == Type::kTf32) return from == Type::kF32 ? convert_tf32 : nullptr;
  if (to == Type::kBf16x2) return from == Type::kF32 ? convert_pair<to_bf16> : nullptr;
  if (to == Type::kF16x2) return from == Type::kF32 ? convert_pair<to_half> : nullptr;
  if (to == Type::kBf16)
    return visit_arithmetic(from,
                            [](auto s) -> Compute { return convert_narrow<decltype(s), to_bf16>; });
  if (to == Type::kF16)
    return visit_arithmetic(from,
                            [](auto s) -> Compute { return convert_narrow<decltype(s), to_half>; });
  if (from == Type::kBf16)
    return visit_arithmetic(
        to, [](auto d) -> Compute { return convert_from_narrow<decltype(d), bf16_to_float>; });
  if (from == Type::kF16)
    return visit_arithmetic(
        to, [](auto d) -> Compute { return convert_from_narrow<decltype(d), half_to_float>; });
  return visit_arithmetic(to, [&](auto d) -> Compute {
    return visit_arithmetic(from,
                            [](auto s) -> Compute { return convert<decltype(d), decltype(s)>; });
  });
}

}  // namespace

Compute select_convert(Form& form, Instruction& i) {
  if (form.mnemonic() != "cvt") return nullptr;
  const Type to = form.take_type(), from = form.take_type();
  for (const auto& [name, rounding] : {std::pair{"rni", Rounding::kNearest},
                                       {"rzi", Rounding::kZero},
                                       {"rmi", Rounding::kDown},
                                       {"rpi", Rounding::kUp}})
    if (form.take(name)) i.rounding = rounding, i.detail = kToIntegral;
  if (const auto rounding = form.take_rounding()) i.rounding = *rounding;
  i.flush = form.take("ftz");
  i.saturate = form.take("sat");
  return pick(to, from);
}

}  // namespace sfnn::gpusim
