// The arithmetic of a GPU's products, as --math has it.
#pragma once

#include <string_view>

namespace sfnn {

// fp32    single precision throughout.
// tf32    operands rounded to 10 bits of significand on their way into the tensor cores.
// bf16x3  if one operand is bits, the other is split into three bf16 parts, which loses nothing:
//         three tensor-core products of fp32 grade. Products of two real operands stay fp32.
enum class MathMode { fp32, tf32, bf16x3 };

MathMode parse_math_mode(std::string_view);  // throws ConfigError
std::string_view to_string(MathMode);

}  // namespace sfnn
