// Comparisons and selection.
#include <array>
#include <cmath>
#include <utility>

#include "tests/gpusim/form.hpp"

namespace sfnn::gpusim {
namespace {

enum class Relation : std::uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kNum, kNan };

struct Comparison {
  std::string_view name;
  Relation relation;
  bool unordered;  // true if an operand is NaN
};

constexpr std::array<Comparison, 18> kComparisons = {{
    {"eq", Relation::kEq, false},
    {"ne", Relation::kNe, false},
    {"lt", Relation::kLt, false},
    {"le", Relation::kLe, false},
    {"gt", Relation::kGt, false},
    {"ge", Relation::kGe, false},
    {"lo", Relation::kLt, false},
    {"ls", Relation::kLe, false},
    {"hi", Relation::kGt, false},
    {"hs", Relation::kGe, false},
    {"equ", Relation::kEq, true},
    {"neu", Relation::kNe, true},
    {"ltu", Relation::kLt, true},
    {"leu", Relation::kLe, true},
    {"gtu", Relation::kGt, true},
    {"geu", Relation::kGe, true},
    {"num", Relation::kNum, false},
    {"nan", Relation::kNan, true},
}};

enum Combine : std::uint8_t { kAlone, kAnd, kOr, kXor };

bool combined(std::uint8_t how, bool a, bool b) {
  switch (how) {
    case kAnd:
      return a && b;
    case kOr:
      return a || b;
    case kXor:
      return a != b;
    default:
      return a;
  }
}

template <class T, Relation kRelation>
bool holds(T a, T b) {
  switch (kRelation) {
    case Relation::kEq:
      return a == b;
    case Relation::kNe:
      return a != b;
    case Relation::kLt:
      return a < b;
    case Relation::kLe:
      return a <= b;
    case Relation::kGt:
      return a > b;
    case Relation::kGe:
      return a >= b;
    default:
      return kRelation == Relation::kNum;
  }
}

// How a register's bits become something C++ compares.
template <class T>
struct Plain {
  using Value = T;
  static T read(Slot s) { return get<T>(s); }
};
struct Half {
  using Value = float;
  static float read(Slot s) { return half_to_float(std::uint16_t(s)); }
};
struct Bf16 {
  using Value = float;
  static float read(Slot s) { return bf16_to_float(std::uint16_t(s)); }
};

template <class Operand, Relation kRelation, bool kUnordered>
bool compare(const Instruction& i, const Slot* r) {
  using T = typename Operand::Value;
  const T a = Operand::read(r[i.src[0]]), b = Operand::read(r[i.src[1]]);
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a) || std::isnan(b)) return kUnordered;
  return holds<T, kRelation>(a, b);
}

// p = a ? b; with a second destination q = not p; either combined with a third operand.
template <class Operand, Relation kRelation, bool kUnordered>
void setp(const Instruction& i, Slot* r) {
  const bool v = compare<Operand, kRelation, kUnordered>(i, r), c = r[i.src[2]] != 0;
  const bool q = combined(i.detail, !v, c);
  r[i.dst[0]] = combined(i.detail, v, c);
  r[i.dst[1]] = q;
}

// set: 1.0f or all ones if the relation holds.
template <class Operand, Relation kRelation, bool kUnordered>
void set(const Instruction& i, Slot* r) {
  const bool v = compare<Operand, kRelation, kUnordered>(i, r);
  const std::uint32_t yes = i.type == Type::kF32 ? 0x3f800000u : ~0u;
  put(r[i.dst[0]], v ? yes : 0u);
}

template <class T>
void select(const Instruction& i, Slot* r) {
  put<T>(r[i.dst[0]], get<T>(r[r[i.src[2]] ? i.src[0] : i.src[1]]));
}

template <class Operand, std::size_t... kIndex>
Compute pick(std::size_t comparison, bool predicate, std::index_sequence<kIndex...>) {
  static constexpr Compute kSetp[] = {
      setp<Operand, kComparisons[kIndex].relation, kComparisons[kIndex].unordered>...};
  static constexpr Compute kSet[] = {
      set<Operand, kComparisons[kIndex].relation, kComparisons[kIndex].unordered>...};
  return (predicate ? kSetp : kSet)[comparison];
}

template <class Operand>
Compute pick(std::size_t comparison, bool predicate) {
  return pick<Operand>(comparison, predicate, std::make_index_sequence<kComparisons.size()>());
}

std::size_t take_comparison(Form& form) {
  for (std::size_t c = 0; c < kComparisons.size(); ++c)
    if (form.take(kComparisons[c].name)) return c;
  form.fail("unknown comparison");
}

}  // namespace

Compute select_compare(Form& form, Instruction& i) {
  const std::string& name = form.mnemonic();
  if (name == "selp") {
    switch (bytes_of(form.take_type())) {
      case 2:
        return select<std::uint16_t>;
      case 4:
        return select<std::uint32_t>;
      default:
        return select<std::uint64_t>;
    }
  }
  if (name != "setp" && name != "set") return nullptr;
  const bool predicate = name == "setp";
  if (!predicate) {
    i.type = form.take_type();
    if (bytes_of(i.type) != 4) form.fail("a result that is not 32 bits wide");
  }
  const Type type = form.take_type();
  const std::size_t comparison = take_comparison(form);
  form.take("ftz");  // flushing keeps every order but that of two subnormals
  i.detail = form.take("and") ? kAnd : form.take("or") ? kOr : form.take("xor") ? kXor : kAlone;
  if (!predicate && i.detail != kAlone) form.fail("set combined with a predicate");
  if (type == Type::kF16) return pick<Half>(comparison, predicate);
  if (type == Type::kBf16) return pick<Bf16>(comparison, predicate);
  const auto by_type = [&](auto t) -> Compute {
    return pick<Plain<decltype(t)>>(comparison, predicate);
  };
  return is_float(type) ? visit_float(type, by_type) : visit_integer(type, by_type);
}

}  // namespace sfnn::gpusim
