// What an output distribution can have given: the one place that says which targets fit it.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/output.hpp"

namespace sfnn {

// Whether y is something that an output of D_out numbers or classes can have given.
bool is_target(Output, std::int64_t D_out, float y);
// In words: "a class from 0 to 9"
std::string wanted_target(Output, std::int64_t D_out);

}  // namespace sfnn
