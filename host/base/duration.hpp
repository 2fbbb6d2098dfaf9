// A duration as people say it.
#pragma once

#include <string>

namespace sfnn {

std::string duration(double seconds);  // "48 s", "3 min 20 s", "2 h 05 min"

}  // namespace sfnn
