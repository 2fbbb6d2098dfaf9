// Which targets fit an output distribution, said in this one place.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/output.hpp"

namespace sfnn {

// True if y is a possible value of an output with D_out numbers or classes.
bool is_target(Output, std::int64_t D_out, float y);
// Do they lie in 0 .. 1? Then bytes are bits or grey values, whatever is said of others.
bool are_fractions(Output);
// In words: "a class from 0 to 9"
std::string wanted_target(Output, std::int64_t D_out);

}  // namespace sfnn
