// "Did you mean ...?", for config keys.
#pragma once

#include <string>
#include <string_view>

namespace sfnn {

// The key that somebody may have meant; empty: none is near, and a wrong guess is worse than none.
std::string nearest_key(std::string_view typed);

}  // namespace sfnn
