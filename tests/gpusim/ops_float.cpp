// Arithmetic in f32 and f64. add, mul, fma, div, rcp.rn and sqrt.rn are exact to the last bit; the
// .approx functions are the true value rounded, inside the hardware's error bound but not its bits.
#include <cmath>

#include "tests/gpusim/form.hpp"

namespace sfnn::gpusim {
namespace {

template <class T>
T flushed(T v) {
  return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(T(0), v) : v;
}

template <class T, class Op, std::size_t... kOperand>
T evaluate(const Instruction& i, const Slot* r, std::index_sequence<kOperand...>) {
  return Op::template apply<T>(get<T>(r[i.src[kOperand]])...);
}

template <class T, class Op, std::size_t... kOperand>
T evaluate_flushed(const Instruction& i, const Slot* r, std::index_sequence<kOperand...>) {
  return flushed(Op::template apply<T>(flushed(get<T>(r[i.src[kOperand]]))...));
}

template <class T, class Op>
void plain(const Instruction& i, Slot* r) {
  put<T>(r[i.dst[0]], evaluate<T, Op>(i, r, std::make_index_sequence<Op::kOperands>()));
}

template <class T, class Op>
void modified(const Instruction& i, Slot* r) {
  constexpr auto operands = std::make_index_sequence<Op::kOperands>();
  const RoundingScope scope(i.rounding);
  T v = i.flush ? evaluate_flushed<T, Op>(i, r, operands) : evaluate<T, Op>(i, r, operands);
  if (i.saturate) v = v > T(0) ? (v < T(1) ? v : T(1)) : T(0);  // NaN becomes 0
  put<T>(r[i.dst[0]], v);
}

struct Add {
  static constexpr int kOperands = 2;
  template <class T>
  static T apply(T a, T b) {
    return a + b;
  }
};
struct Sub {
  static constexpr int kOperands = 2;
  template <class T>
  static T apply(T a, T b) {
    return a - b;
  }
};
struct Mul {
  static constexpr int kOperands = 2;
  template <class T>
  static T apply(T a, T b) {
    return a * b;
  }
};
struct Div {
  static constexpr int kOperands = 2;
  template <class T>
  static T apply(T a, T b) {
    return a / b;
  }
};
struct Fma {
  static constexpr int kOperands = 3;
  template <class T>
  static T apply(T a, T b, T c) {
    return std::fma(a, b, c);
  }
};
struct Min {  // a NaN loses; -0 is below +0
  static constexpr int kOperands = 2;
  template <class T>
  static T apply(T a, T b) {
    if (a == b) return std::signbit(a) ? a : b;
    return std::fmin(a, b);
  }
};
struct Max {
  static constexpr int kOperands = 2;
  template <class T>
  static T apply(T a, T b) {
    if (a == b) return std::signbit(a) ? b : a;
    return std::fmax(a, b);
  }
};
struct Neg {
  static constexpr int kOperands = 1;
  template <class T>
  static T apply(T a) {
    return -a;
  }
};
struct Abs {
  static constexpr int kOperands = 1;
  template <class T>
  static T apply(T a) {
    return std::fabs(a);
  }
};
struct CopySign {  // the sign of a on the magnitude of b
  static constexpr int kOperands = 2;
  template <class T>
  static T apply(T a, T b) {
    return std::copysign(b, a);
  }
};
struct Sqrt {
  static constexpr int kOperands = 1;
  template <class T>
  static T apply(T a) {
    return std::sqrt(a);
  }
};
struct Rcp {
  static constexpr int kOperands = 1;
  template <class T>
  static T apply(T a) {
    return T(1) / a;
  }
};

// f of a double, rounded to T.
template <double (*f)(double)>
struct Approximate {
  static constexpr int kOperands = 1;
  template <class T>
  static T apply(T a) {
    return T(f(double(a)));
  }
};
double inverse_root(double a) { return 1 / std::sqrt(a); }

// rcp.approx.ftz.f64 and rsqrt's: starting values for Newton's method, the low word zero.
template <class Op>
struct HighWord {
  static constexpr int kOperands = 1;
  template <class T>
  static T apply(T a) {
    Slot bits;
    put(bits, Op::template apply<T>(a));
    return get<T>(bits & ~Slot(0xffffffff));
  }
};

template <class Op>
Compute pick(Type type, const Instruction& i) {
  const bool is_plain = i.rounding == Rounding::kNearest && !i.flush && !i.saturate;
  return visit_float(type, [&](auto t) -> Compute {
    return is_plain ? plain<decltype(t), Op> : modified<decltype(t), Op>;
  });
}

Compute select_transcendental(Form& form, Type type, Instruction& i) {
  const std::string& name = form.mnemonic();
  const bool approximate = form.take("approx");
  if (approximate && type == Type::kF64) {
    if (name == "rcp") return pick<HighWord<Rcp>>(type, i);
    if (name == "rsqrt") return pick<HighWord<Approximate<inverse_root>>>(type, i);
    return nullptr;
  }
  if (name == "rcp") return pick<Rcp>(type, i);
  if (name == "sqrt") return pick<Sqrt>(type, i);
  if (!approximate) return nullptr;
  if (name == "rsqrt") return pick<Approximate<inverse_root>>(type, i);
  if (name == "ex2") return pick<Approximate<std::exp2>>(type, i);
  if (name == "lg2") return pick<Approximate<std::log2>>(type, i);
  if (name == "sin") return pick<Approximate<std::sin>>(type, i);
  if (name == "cos") return pick<Approximate<std::cos>>(type, i);
  if (name == "tanh") return pick<Approximate<std::tanh>>(type, i);
  return nullptr;
}

// Two floats in a 64-bit register, each on its own.
template <class Op>
void packed(const Instruction& i, Slot* r) {
  const RoundingScope scope(i.rounding);
  Slot result = 0;
  for (int half = 0; half < 2; ++half) {
    const auto operand = [&](int n) { return get<float>(r[i.src[std::size_t(n)]] >> 32 * half); };
    float v;
    if constexpr (Op::kOperands == 3)
      v = Op::template apply<float>(operand(0), operand(1), operand(2));
    else
      v = Op::template apply<float>(operand(0), operand(1));
    Slot bits;
    put(bits, i.flush ? flushed(v) : v);
    result |= bits << 32 * half;
  }
  r[i.dst[0]] = result;
}

Compute select_packed(const std::string& name) {
  if (name == "add") return packed<Add>;
  if (name == "sub") return packed<Sub>;
  if (name == "mul") return packed<Mul>;
  if (name == "fma") return packed<Fma>;
  return nullptr;
}

}  // namespace

Compute select_float(Form& form, Instruction& i) {
  Form rest = form;
  const auto type = rest.take_type_if();
  if (!type || (!is_float(*type) && *type != Type::kF32x2)) return nullptr;
  const std::string& name = form.mnemonic();
  i.rounding = rest.take_rounding().value_or(Rounding::kNearest);
  i.flush = rest.take("ftz");
  i.saturate = rest.take("sat");
  Compute found = nullptr;
  if (*type == Type::kF32x2)
    found = select_packed(name);
  else if (name == "add")
    found = pick<Add>(*type, i);
  else if (name == "sub")
    found = pick<Sub>(*type, i);
  else if (name == "mul")
    found = pick<Mul>(*type, i);
  else if (name == "fma" || name == "mad")
    found = pick<Fma>(*type, i);
  else if (name == "div")
    rest.take_any({"approx", "full"}), found = pick<Div>(*type, i);
  else if (name == "min")
    found = pick<Min>(*type, i);
  else if (name == "max")
    found = pick<Max>(*type, i);
  else if (name == "neg")
    found = pick<Neg>(*type, i);
  else if (name == "abs")
    found = pick<Abs>(*type, i);
  else if (name == "copysign")
    found = pick<CopySign>(*type, i);
  else
    found = select_transcendental(rest, *type, i);
  if (found) form = rest;
  return found;
}

}  // namespace sfnn::gpusim
