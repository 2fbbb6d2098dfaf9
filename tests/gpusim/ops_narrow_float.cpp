// Arithmetic in f16 and bf16, alone or in pairs: computed in double, rounded once.
#include <cmath>

#include "tests/gpusim/form.hpp"

namespace sfnn::gpusim {
namespace {

struct Half {
  static double widen(std::uint16_t bits) { return half_to_float(bits); }
  static std::uint16_t narrow(double v) { return to_half(v, Rounding::kNearest); }
};
struct Bf16 {
  static double widen(std::uint16_t bits) { return bf16_to_float(bits); }
  static std::uint16_t narrow(double v) { return to_bf16(v, Rounding::kNearest); }
};

double add(double a, double b, double) { return a + b; }
double sub(double a, double b, double) { return a - b; }
double mul(double a, double b, double) { return a * b; }
double fma(double a, double b, double c) { return std::fma(a, b, c); }
double min(double a, double b, double) { return std::fmin(a, b); }
double max(double a, double b, double) { return std::fmax(a, b); }
double neg(double a, double, double) { return -a; }
double abs(double a, double, double) { return std::fabs(a); }

template <class Format, int kLanes, double (*f)(double, double, double)>
void lanewise(const Instruction& i, Slot* r) {
  Slot result = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto operand = [&](std::size_t n) {
      return Format::widen(std::uint16_t(r[i.src[n]] >> 16 * lane));
    };
    result |= Slot(Format::narrow(f(operand(0), operand(1), operand(2)))) << 16 * lane;
  }
  r[i.dst[0]] = result;
}

template <double (*f)(double, double, double)>
Compute pick(Type type) {
  switch (type) {
    case Type::kF16:
      return lanewise<Half, 1, f>;
    case Type::kBf16:
      return lanewise<Bf16, 1, f>;
    case Type::kF16x2:
      return lanewise<Half, 2, f>;
    case Type::kBf16x2:
      return lanewise<Bf16, 2, f>;
    default:
      return nullptr;
  }
}

}  // namespace

Compute select_narrow_float(Form& form, Instruction&) {
  Form rest = form;
  const auto type = rest.take_type_if();
  if (!type) return nullptr;
  const std::string& name = form.mnemonic();
  rest.take("rn");
  Compute found = nullptr;
  if (name == "add") found = pick<add>(*type);
  if (name == "sub") found = pick<sub>(*type);
  if (name == "mul") found = pick<mul>(*type);
  if (name == "fma") found = pick<fma>(*type);
  if (name == "min") found = pick<min>(*type);
  if (name == "max") found = pick<max>(*type);
  if (name == "neg") found = pick<neg>(*type);
  if (name == "abs") found = pick<abs>(*type);
  if (found) form = rest;
  return found;
}

}  // namespace sfnn::gpusim
