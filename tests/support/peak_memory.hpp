// How much memory some work takes at most: what operator new has given out at once, over what it
// had given out before. This thread alone; what libraries take by malloc is not seen.
#pragma once

#include <cstddef>

#include "host/base/function_ref.hpp"

namespace sfnn {

std::size_t peak_memory(FunctionRef<void()> work);  // work must not throw

}  // namespace sfnn
