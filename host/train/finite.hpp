// Numbers that have gone bad: NaN or infinite.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "host/model/network.hpp"

namespace sfnn {

bool all_finite(std::span<const float>);

// The tensors of a flat array, laid out as the parameters are, that hold such a number:
// "layer1.W_s", "V". Empty: none.
std::vector<std::string> not_finite_tensors(const ParamLayout&, std::span<const float> flat);

}  // namespace sfnn
