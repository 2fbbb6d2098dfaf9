// Integer arithmetic. Sums and products are computed unsigned: PTX wraps around.
#include <algorithm>
#include <limits>

#include "tests/gpusim/form.hpp"

namespace sfnn::gpusim {
namespace {

template <class T>
using Unsigned = std::make_unsigned_t<T>;

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 Uint128;

template <class T>
using Wide =
    std::conditional_t<sizeof(T) == 8, std::conditional_t<std::is_signed_v<T>, Int128, Uint128>,
                       std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;

template <class T, class Op>
void unary(const Instruction& i, Slot* r) {
  put<T>(r[i.dst[0]], Op::template apply<T>(get<T>(r[i.src[0]])));
}
template <class T, class Op>
void binary(const Instruction& i, Slot* r) {
  put<T>(r[i.dst[0]], Op::template apply<T>(get<T>(r[i.src[0]]), get<T>(r[i.src[1]])));
}
template <class T, class Op>
void ternary(const Instruction& i, Slot* r) {
  put<T>(r[i.dst[0]],
         Op::template apply<T>(get<T>(r[i.src[0]]), get<T>(r[i.src[1]]), get<T>(r[i.src[2]])));
}

struct Add {
  template <class T>
  static T apply(T a, T b) {
    return T(Wide<Unsigned<T>>(Unsigned<T>(a)) + Unsigned<T>(b));
  }
};
struct Sub {
  template <class T>
  static T apply(T a, T b) {
    return T(Wide<Unsigned<T>>(Unsigned<T>(a)) - Unsigned<T>(b));
  }
};
struct MulLo {
  template <class T>
  static T apply(T a, T b) {
    return T(Wide<Unsigned<T>>(Unsigned<T>(a)) * Unsigned<T>(b));
  }
};
struct MulHi {
  template <class T>
  static T apply(T a, T b) {
    return T(Wide<T>(a) * Wide<T>(b) >> 8 * sizeof(T));
  }
};
template <class Product>
struct Mad {
  template <class T>
  static T apply(T a, T b, T c) {
    return Add::apply<T>(Product::template apply<T>(a, b), c);
  }
};
struct Div {  // by zero: all ones, as the hardware's sequence gives
  template <class T>
  static T apply(T a, T b) {
    if (b == 0) return T(~Unsigned<T>(0));
    return std::is_signed_v<T> && b == T(-1) ? Sub::apply<T>(0, a) : T(a / b);
  }
};
struct Rem {
  template <class T>
  static T apply(T a, T b) {
    if (b == 0) return a;
    return std::is_signed_v<T> && b == T(-1) ? T(0) : T(a % b);
  }
};
struct Min {
  template <class T>
  static T apply(T a, T b) {
    return std::min(a, b);
  }
};
struct Max {
  template <class T>
  static T apply(T a, T b) {
    return std::max(a, b);
  }
};
struct Neg {
  template <class T>
  static T apply(T a) {
    return Sub::apply<T>(0, a);
  }
};
struct Abs {
  template <class T>
  static T apply(T a) {
    return a < 0 ? Sub::apply<T>(0, a) : a;
  }
};
struct Sad {  // |a - b| + c
  template <class T>
  static T apply(T a, T b, T c) {
    return Add::apply<T>(a < b ? Sub::apply<T>(b, a) : Sub::apply<T>(a, b), c);
  }
};

// .sat: s32 only, clamped instead of wrapped.
template <int kSign>
void saturating(const Instruction& i, Slot* r) {
  const std::int64_t exact = std::int64_t(get<std::int32_t>(r[i.src[0]])) +
                             kSign * std::int64_t(get<std::int32_t>(r[i.src[1]]));
  put(r[i.dst[0]],
      std::int32_t(std::clamp<std::int64_t>(exact, std::numeric_limits<std::int32_t>::min(),
                                            std::numeric_limits<std::int32_t>::max())));
}

// Product of two n-bit numbers in 2n bits; with kAdd, plus a third operand of 2n bits.
template <class T, bool kAdd>
void wide(const Instruction& i, Slot* r) {
  using W =
      std::conditional_t<sizeof(T) == 4,
                         std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>,
                         std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>>;
  const W product = W(W(get<T>(r[i.src[0]])) * W(get<T>(r[i.src[1]])));
  put<W>(r[i.dst[0]], kAdd ? Add::apply<W>(product, get<W>(r[i.src[2]])) : product);
}

// add.cc, addc, addc.cc: long additions. The carry lives in a slot of its own.
template <class T, bool kSubtract, bool kIn, bool kOut>
void with_carry(const Instruction& i, Slot* r) {
  using U = Unsigned<T>;
  const Uint128 a = U(get<T>(r[i.src[0]])), b = U(get<T>(r[i.src[1]]));
  const Uint128 in = kIn ? r[kCarrySlot] : 0;
  const Uint128 sum = kSubtract ? a - b - in : a + b + in;
  put<U>(r[i.dst[0]], U(sum));
  if (kOut) r[kCarrySlot] = std::uint64_t(sum >> 8 * sizeof(U)) & 1;
}

template <class T, class Product, bool kIn, bool kOut>
void mad_with_carry(const Instruction& i, Slot* r) {
  using U = Unsigned<T>;
  const Uint128 product = U(Product::template apply<T>(get<T>(r[i.src[0]]), get<T>(r[i.src[1]])));
  const Uint128 sum = product + U(get<T>(r[i.src[2]])) + (kIn ? r[kCarrySlot] : 0);
  put<U>(r[i.dst[0]], U(sum));
  if (kOut) r[kCarrySlot] = std::uint64_t(sum >> 8 * sizeof(U)) & 1;
}

// dp4a: four products of bytes, summed.
template <class A, class B>
void dot4(const Instruction& i, Slot* r) {
  const auto a = get<std::uint32_t>(r[i.src[0]]), b = get<std::uint32_t>(r[i.src[1]]);
  auto sum = get<std::uint32_t>(r[i.src[2]]);
  for (int byte = 0; byte < 4; ++byte) {
    const auto x = A(std::uint8_t(a >> 8 * byte));
    const auto y = B(std::uint8_t(b >> 8 * byte));
    sum += std::uint32_t(int(x) * int(y));
  }
  put(r[i.dst[0]], sum);
}

template <class Op>
Compute pick_unary(Type type) {
  return visit_integer(type, [](auto t) -> Compute { return unary<decltype(t), Op>; });
}
template <class Op>
Compute pick_binary(Type type) {
  return visit_integer(type, [](auto t) -> Compute { return binary<decltype(t), Op>; });
}
template <class Op>
Compute pick_ternary(Type type) {
  return visit_integer(type, [](auto t) -> Compute { return ternary<decltype(t), Op>; });
}

template <bool kAdd>
Compute pick_wide(Type type) {
  switch (type) {
    case Type::kU16:
      return wide<std::uint16_t, kAdd>;
    case Type::kS16:
      return wide<std::int16_t, kAdd>;
    case Type::kU32:
      return wide<std::uint32_t, kAdd>;
    case Type::kS32:
      return wide<std::int32_t, kAdd>;
    default:
      return nullptr;
  }
}

template <bool kSubtract>
Compute pick_carry(Type type, bool in, bool out) {
  return visit_integer(type, [&](auto t) -> Compute {
    using T = decltype(t);
    if (in)
      return out ? with_carry<T, kSubtract, true, true> : with_carry<T, kSubtract, true, false>;
    return with_carry<T, kSubtract, false, true>;
  });
}

template <class Product>
Compute pick_mad_carry(Type type, bool in, bool out) {
  return visit_integer(type, [&](auto t) -> Compute {
    using T = decltype(t);
    if (in)
      return out ? mad_with_carry<T, Product, true, true> : mad_with_carry<T, Product, true, false>;
    return mad_with_carry<T, Product, false, true>;
  });
}

Compute select_dot4(Form& form) {
  const bool a = form.take_type() == Type::kS32, b = form.take_type() == Type::kS32;
  if (a) return b ? dot4<std::int8_t, std::int8_t> : dot4<std::int8_t, std::uint8_t>;
  return b ? dot4<std::uint8_t, std::int8_t> : dot4<std::uint8_t, std::uint8_t>;
}

Compute select_sum(Form& form, Type type, bool subtract) {
  if (form.take("cc"))
    return subtract ? pick_carry<true>(type, false, true) : pick_carry<false>(type, false, true);
  if (form.take("sat")) {
    if (type != Type::kS32) form.fail(".sat of a type other than s32");
    return subtract ? saturating<-1> : saturating<1>;
  }
  return subtract ? pick_binary<Sub>(type) : pick_binary<Add>(type);
}

Compute select_product(Form& form, Type type) {
  const bool mad = form.mnemonic() != "mul", in = form.mnemonic() == "madc";
  if (form.take("wide")) return mad ? pick_wide<true>(type) : pick_wide<false>(type);
  const bool hi = form.take("hi");
  if (!hi && !form.take("lo")) form.fail("neither .lo, .hi nor .wide");
  if (!mad) return hi ? pick_binary<MulHi>(type) : pick_binary<MulLo>(type);
  const bool out = form.take("cc");
  if (in || out)
    return hi ? pick_mad_carry<MulHi>(type, in, out) : pick_mad_carry<MulLo>(type, in, out);
  return hi ? pick_ternary<Mad<MulHi>>(type) : pick_ternary<Mad<MulLo>>(type);
}

}  // namespace

Compute select_integer(Form& form, Instruction&) {
  const std::string name = form.mnemonic();
  if (name == "dp4a") return select_dot4(form);
  Form rest = form;
  const auto type = rest.take_type_if();
  if (!type || !visit_integer(*type, [](auto) { return true; })) return nullptr;
  Compute found = nullptr;
  if (name == "add" || name == "sub") found = select_sum(rest, *type, name == "sub");
  if (name == "addc") found = pick_carry<false>(*type, true, rest.take("cc"));
  if (name == "subc") found = pick_carry<true>(*type, true, rest.take("cc"));
  if (name == "mul" || name == "mad" || name == "madc") found = select_product(rest, *type);
  if (name == "div") found = pick_binary<Div>(*type);
  if (name == "rem") found = pick_binary<Rem>(*type);
  if (name == "min") found = pick_binary<Min>(*type);
  if (name == "max") found = pick_binary<Max>(*type);
  if (name == "neg") found = pick_unary<Neg>(*type);
  if (name == "abs") found = pick_unary<Abs>(*type);
  if (name == "sad") found = pick_ternary<Sad>(*type);
  if (found) form = rest;
  return found;
}

}  // namespace sfnn::gpusim
