#include "host/backend/math_mode.hpp"

#include <fmt/format.h>

#include "host/base/error.hpp"

namespace sfnn {

MathMode parse_math_mode(std::string_view text) {
  for (MathMode mode : {MathMode::fp32, MathMode::tf32, MathMode::bf16x3})
    if (to_string(mode) == text) return mode;
  throw ConfigError(fmt::format("math '{}' is not known: use fp32, tf32 or bf16x3", text));
}

std::string_view to_string(MathMode mode) {
  switch (mode) {
    case MathMode::fp32:
      return "fp32";
    case MathMode::tf32:
      return "tf32";
    case MathMode::bf16x3:
      return "bf16x3";
  }
  return "";
}

}  // namespace sfnn
