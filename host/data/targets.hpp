// Which targets fit an output distribution, said in this one place.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/output.hpp"

namespace sfnn {

// True if y is a possible value of an output with D_out numbers or classes.
bool is_target(Output, std::int64_t D_out, float y);
// In words: "a class from 0 to 9"
std::string wanted_target(Output, std::int64_t D_out);

}  // namespace sfnn
