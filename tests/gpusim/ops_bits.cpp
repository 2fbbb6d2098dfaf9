// Moves, logic, shifts and fields of bits.
#include <algorithm>
#include <bit>

#include "tests/gpusim/form.hpp"

namespace sfnn::gpusim {
namespace {

template <class T>
void move(const Instruction& i, Slot* r) {
  put<T>(r[i.dst[0]], get<T>(r[i.src[0]]));
}

// cvta between a window of generic addresses and the offsets inside it.
template <std::uint64_t kWindow>
void to_generic(const Instruction& i, Slot* r) {
  r[i.dst[0]] = r[i.src[0]] + kWindow;
}
template <std::uint64_t kWindow>
void from_generic(const Instruction& i, Slot* r) {
  r[i.dst[0]] = r[i.src[0]] - kWindow;
}

struct And {
  static Slot apply(Slot a, Slot b) { return a & b; }
};
struct Or {
  static Slot apply(Slot a, Slot b) { return a | b; }
};
struct Xor {
  static Slot apply(Slot a, Slot b) { return a ^ b; }
};

template <class T, class Op>
void logic(const Instruction& i, Slot* r) {
  put<T>(r[i.dst[0]], T(Op::apply(r[i.src[0]], r[i.src[1]])));
}
template <class T>
void bitwise_not(const Instruction& i, Slot* r) {
  put<T>(r[i.dst[0]], T(~r[i.src[0]]));
}
void predicate_not(const Instruction& i, Slot* r) { r[i.dst[0]] = !r[i.src[0]]; }

// Shift amounts are 32-bit and clamped to the width.
template <class T>
void shift_left(const Instruction& i, Slot* r) {
  const auto amount = get<std::uint32_t>(r[i.src[1]]);
  put<T>(r[i.dst[0]],
         amount >= 8 * sizeof(T) ? T(0) : T(std::uint64_t(get<T>(r[i.src[0]])) << amount));
}
template <class T>
void shift_right(const Instruction& i, Slot* r) {
  const auto amount = get<std::uint32_t>(r[i.src[1]]);
  const T value = get<T>(r[i.src[0]]);
  if (std::is_signed_v<T>)
    put<T>(r[i.dst[0]], T(std::int64_t(value) >> std::min<std::uint32_t>(amount, 63)));
  else
    put<T>(r[i.dst[0]], amount >= 8 * sizeof(T) ? T(0) : T(std::uint64_t(value) >> amount));
}

// shf: the double word b:a, shifted; l gives its high, r its low half.
template <bool kLeft, bool kWrap>
void funnel(const Instruction& i, Slot* r) {
  const std::uint64_t a = get<std::uint32_t>(r[i.src[0]]), b = get<std::uint32_t>(r[i.src[1]]);
  const auto c = get<std::uint32_t>(r[i.src[2]]);
  const std::uint32_t n = kWrap ? c & 31 : std::min(c, 32u);
  const std::uint64_t word = b << 32 | a;
  put(r[i.dst[0]], std::uint32_t(kLeft ? word << n >> 32 : word >> n));
}

template <class T>
void popc(const Instruction& i, Slot* r) {
  put(r[i.dst[0]], std::uint32_t(std::popcount(get<T>(r[i.src[0]]))));
}
template <class T>
void clz(const Instruction& i, Slot* r) {
  put(r[i.dst[0]], std::uint32_t(std::countl_zero(get<T>(r[i.src[0]]))));
}
template <class T>
void brev(const Instruction& i, Slot* r) {
  T value = get<T>(r[i.src[0]]), result = 0;
  for (unsigned bit = 0; bit < 8 * sizeof(T); ++bit, value = T(value >> 1))
    result = T(result << 1 | (value & 1));
  put(r[i.dst[0]], result);
}

// Position of the highest bit that differs from the sign; with shiftamt, how far to shift it left.
template <class T, bool kShiftAmount>
void bfind(const Instruction& i, Slot* r) {
  using U = std::make_unsigned_t<T>;
  const T value = get<T>(r[i.src[0]]);
  const U bits = std::is_signed_v<T> && value < 0 ? U(~U(value)) : U(value);
  const std::uint32_t position = bits ? std::uint32_t(std::bit_width(bits)) - 1 : ~0u;
  put(r[i.dst[0]], bits && kShiftAmount ? std::uint32_t(8 * sizeof(T) - 1 - position) : position);
}

template <class T>
void bfe(const Instruction& i, Slot* r) {
  constexpr int kMsb = 8 * sizeof(T) - 1;
  const T value = get<T>(r[i.src[0]]);
  const int pos = get<std::uint8_t>(r[i.src[1]]), len = get<std::uint8_t>(r[i.src[2]]);
  const auto bit = [&](int n) { return T(value >> n & 1); };
  const bool sign = std::is_signed_v<T> && len > 0 && bit(std::min(pos + len - 1, kMsb));
  std::make_unsigned_t<T> result = 0;
  for (int n = 0; n <= kMsb; ++n) {
    const bool inside = n < len && pos + n <= kMsb;
    if (inside ? bit(pos + n) != 0 : sign) result |= std::make_unsigned_t<T>(1) << n;
  }
  put(r[i.dst[0]], result);
}

template <class T>
void bfi(const Instruction& i, Slot* r) {
  const T field = get<T>(r[i.src[0]]);
  T result = get<T>(r[i.src[1]]);
  const unsigned pos = get<std::uint8_t>(r[i.src[2]]), len = get<std::uint8_t>(r[i.src[3]]);
  for (unsigned n = 0; n < len && pos + n < 8 * sizeof(T); ++n) {
    const T bit = T(T(1) << (pos + n));
    result = T(field >> n & 1) ? T(result | bit) : T(result & T(~bit));
  }
  put(r[i.dst[0]], result);
}

template <bool kWrap>
void bmsk(const Instruction& i, Slot* r) {
  const auto a = get<std::uint32_t>(r[i.src[0]]), b = get<std::uint32_t>(r[i.src[1]]);
  const std::uint32_t from = kWrap ? a & 31 : a, width = kWrap ? b & 31 : b;
  std::uint32_t mask = 0;
  if (from < 32) mask = (width >= 32 ? ~0u : (1u << width) - 1) << from;
  put(r[i.dst[0]], mask);
}

// Each nibble of c picks a byte of b:a; its top bit asks for that byte's sign instead.
void prmt(const Instruction& i, Slot* r) {
  const std::uint64_t bytes =
      std::uint64_t(get<std::uint32_t>(r[i.src[1]])) << 32 | get<std::uint32_t>(r[i.src[0]]);
  const auto selector = get<std::uint32_t>(r[i.src[2]]);
  std::uint32_t result = 0;
  for (int n = 0; n < 4; ++n) {
    const std::uint32_t pick = selector >> 4 * n & 15;
    const auto byte = std::uint8_t(bytes >> 8 * (pick & 7));
    result |= std::uint32_t(pick & 8 ? (byte & 0x80 ? 0xff : 0) : byte) << 8 * n;
  }
  put(r[i.dst[0]], result);
}

// lop3: bit n of the table is the result for the inputs n = a<<2 | b<<1 | c.
void lop3(const Instruction& i, Slot* r) {
  const auto a = get<std::uint32_t>(r[i.src[0]]), b = get<std::uint32_t>(r[i.src[1]]),
             c = get<std::uint32_t>(r[i.src[2]]), table = get<std::uint32_t>(r[i.src[3]]);
  std::uint32_t result = 0;
  for (unsigned n = 0; n < 8; ++n)
    if (table >> n & 1) result |= (n & 4 ? a : ~a) & (n & 2 ? b : ~b) & (n & 1 ? c : ~c);
  put(r[i.dst[0]], result);
}

template <class Part, std::size_t kParts>
void pack(const Instruction& i, Slot* r) {
  Slot result = 0;
  for (std::size_t n = 0; n < kParts; ++n)
    result |= Slot(get<Part>(r[i.src[n]])) << 8 * sizeof(Part) * n;
  r[i.dst[0]] = result;
}
template <class Part, std::size_t kParts>
void unpack(const Instruction& i, Slot* r) {
  const Slot value = r[i.src[0]];
  for (std::size_t n = 0; n < kParts; ++n) put(r[i.dst[n]], Part(value >> 8 * sizeof(Part) * n));
}

void nothing(const Instruction&, Slot*) {}

// f(T{}) by width alone.
template <class F>
Compute by_width(Type type, F f) {
  switch (bytes_of(type)) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    default:
      return f(std::uint64_t{});
  }
}

template <class F>
Compute by_word(Form& form, F f) {
  const Type type = form.take_type();
  if (bytes_of(type) == 4) return f(std::uint32_t{});
  if (bytes_of(type) == 8) return f(std::uint64_t{});
  form.fail("neither a 32-bit nor a 64-bit type");
}

Compute select_field(Form& form) {
  const std::string& name = form.mnemonic();
  if (name == "popc") return by_word(form, [](auto t) -> Compute { return popc<decltype(t)>; });
  if (name == "clz") return by_word(form, [](auto t) -> Compute { return clz<decltype(t)>; });
  if (name == "brev") return by_word(form, [](auto t) -> Compute { return brev<decltype(t)>; });
  if (name == "bfi") return by_word(form, [](auto t) -> Compute { return bfi<decltype(t)>; });
  if (name == "bfe")
    return visit_integer(form.take_type(), [](auto t) -> Compute { return bfe<decltype(t)>; });
  if (name == "bfind") {
    const bool amount = form.take("shiftamt");
    return visit_integer(form.take_type(), [&](auto t) -> Compute {
      return amount ? bfind<decltype(t), true> : bfind<decltype(t), false>;
    });
  }
  return nullptr;
}

Compute select_address(Form& form) {
  const bool to = form.take("to");
  form.take_type();
  if (form.take("shared")) return to ? from_generic<kSharedWindow> : to_generic<kSharedWindow>;
  if (form.take("local")) return to ? from_generic<kLocalWindow> : to_generic<kLocalWindow>;
  if (form.take("param")) return to ? from_generic<kParamWindow> : to_generic<kParamWindow>;
  if (form.take("global") || form.take("const")) return move<std::uint64_t>;
  form.fail("unknown state space");
}

Compute select_funnel(Form& form) {
  form.take_type();
  const bool left = form.take("l"), wrap = form.take("wrap");
  if (!left && !form.take("r")) form.fail("neither .l nor .r");
  if (!wrap && !form.take("clamp")) form.fail("neither .wrap nor .clamp");
  if (left) return wrap ? funnel<true, true> : funnel<true, false>;
  return wrap ? funnel<false, true> : funnel<false, false>;
}

}  // namespace

Compute select_bits(Form& form, Instruction&) {
  const std::string& name = form.mnemonic();
  const auto width = [&](auto f) { return by_width(form.take_type(), f); };
  if (name == "mov") return width([](auto t) -> Compute { return move<decltype(t)>; });
  if (name == "cvta") return select_address(form);
  if (name == "and") return width([](auto t) -> Compute { return logic<decltype(t), And>; });
  if (name == "or") return width([](auto t) -> Compute { return logic<decltype(t), Or>; });
  if (name == "xor") return width([](auto t) -> Compute { return logic<decltype(t), Xor>; });
  if (name == "not") {
    const Type type = form.take_type();
    if (type == Type::kPred) return predicate_not;
    return by_width(type, [](auto t) -> Compute { return bitwise_not<decltype(t)>; });
  }
  if (name == "shl") return width([](auto t) -> Compute { return shift_left<decltype(t)>; });
  if (name == "shr")
    return visit_integer(form.take_type(),
                         [](auto t) -> Compute { return shift_right<decltype(t)>; });
  if (name == "shf") return select_funnel(form);
  if (name == "bmsk") {
    form.take_type();
    if (form.take("wrap")) return bmsk<true>;
    form.take("clamp");
    return bmsk<false>;
  }
  if (name == "prmt") return form.take_type(), prmt;
  if (name == "lop3") return form.take_type(), lop3;
  if (name == "nanosleep" || name == "prefetch") {
    form.take_any({"u32", "global", "L1", "L2"});
    return nothing;
  }
  return select_field(form);
}

Compute select_pack(Form& form, std::size_t parts, bool to_parts) {
  const int bytes = bytes_of(form.take_type());
  if (bytes == 8 && parts == 2) return to_parts ? unpack<std::uint32_t, 2> : pack<std::uint32_t, 2>;
  if (bytes == 8 && parts == 4) return to_parts ? unpack<std::uint16_t, 4> : pack<std::uint16_t, 4>;
  if (bytes == 4 && parts == 2) return to_parts ? unpack<std::uint16_t, 2> : pack<std::uint16_t, 2>;
  if (bytes == 4 && parts == 4) return to_parts ? unpack<std::uint8_t, 4> : pack<std::uint8_t, 4>;
  if (bytes == 2 && parts == 2) return to_parts ? unpack<std::uint8_t, 2> : pack<std::uint8_t, 2>;
  form.fail("a vector that does not fill the register");
}

}  // namespace sfnn::gpusim
