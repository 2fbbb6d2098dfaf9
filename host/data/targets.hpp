// Which targets fit an output distribution, said in this one place.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "kernels/output.hpp"

namespace sfnn {

// The outputs that data can ask for: one of each family. How sigma of a Gaussian is found is up to
// the network.
inline constexpr std::array kTargetOutputs{row_of(Output::softmax), row_of(Output::bernoulli),
                                           row_of(Output::gaussian), row_of(Output::poisson)};
static_assert(std::ranges::count_if(kOutputs, [](const OutputRow& row) {
                return row.id == row.family;
              }) == std::ptrdiff_t(kTargetOutputs.size()));

// True if y is a possible value of an output with D_out numbers or classes.
bool is_target(Output, std::int64_t D_out, float y);
// Do they lie in 0 .. 1? Then bytes are bits or grey values, whatever is said of others.
bool are_fractions(Output);
// In words: "a class from 0 to 9"
std::string wanted_target(Output, std::int64_t D_out);

}  // namespace sfnn
