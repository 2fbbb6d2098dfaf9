// An instruction's mnemonic and modifiers while they are being matched. Each modifier must be taken
// by somebody: what is left over is unknown, and unknown is an error.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/gpusim/program.hpp"
#include "tests/gpusim/ptx_text.hpp"

namespace sfnn::gpusim {

class Form {
 public:
  explicit Form(const Statement& s) : line_(s.line), words_(s.opcode) {}

  const std::string& mnemonic() const { return words_.front(); }

  bool take(std::string_view modifier) {
    for (std::size_t i = 1; i < words_.size(); ++i) {
      if (words_[i] != modifier) continue;
      words_.erase(words_.begin() + long(i));
      return true;
    }
    return false;
  }

  void take_any(std::initializer_list<std::string_view> modifiers) {
    for (const auto m : modifiers) take(m);
  }

  // The first type among the modifiers.
  std::optional<Type> take_type_if() {
    for (std::size_t i = 1; i < words_.size(); ++i) {
      const auto type = type_named(words_[i]);
      if (!type) continue;
      words_.erase(words_.begin() + long(i));
      return type;
    }
    return std::nullopt;
  }

  Type take_type() {
    const auto type = take_type_if();
    if (!type) fail("no type");
    return *type;
  }

  std::optional<Rounding> take_rounding() {
    if (take("rn")) return Rounding::kNearest;
    if (take("rz")) return Rounding::kZero;
    if (take("rm")) return Rounding::kDown;
    if (take("rp")) return Rounding::kUp;
    if (take("rna")) return Rounding::kNearestAway;
    return std::nullopt;
  }

  std::size_t left() const { return words_.size() - 1; }

  void expect_all_taken() const {
    if (left() != 0) fail("modifier ." + words_[1] + " is unknown");
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw PtxError(line_, "cannot simulate " + mnemonic() + ": " + why);
  }

 private:
  int line_;
  std::vector<std::string> words_;
};

// Each looks whether the instruction is one of its own; if so it takes the modifiers, fills in what
// the operation needs to know and returns the function; else null.
Compute select_integer(Form& form, Instruction& i);
Compute select_bits(Form& form, Instruction& i);
Compute select_float(Form& form, Instruction& i);
Compute select_narrow_float(Form& form, Instruction& i);
Compute select_compare(Form& form, Instruction& i);
Compute select_convert(Form& form, Instruction& i);

// mov between a register and a vector of `parts` narrower ones.
Compute select_pack(Form& form, std::size_t parts, bool to_parts);

// Fills in kind and fields of an instruction that is no computation.
bool select_memory(Form& form, Instruction& i);
bool select_synchronisation(Form& form, Instruction& i);

}  // namespace sfnn::gpusim
