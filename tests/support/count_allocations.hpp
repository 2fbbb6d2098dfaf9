// Counts calls of operator new, from any thread, while some work is done.
#pragma once

#include "host/base/function_ref.hpp"

namespace sfnn {

int count_allocations(FunctionRef<void()> work);

}  // namespace sfnn
