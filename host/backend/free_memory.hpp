// What the machine could still give, so that a request for more can be refused in a sentence.
#pragma once

#include <cstddef>

namespace sfnn {

// Bytes, about: what the system could give without swapping; the largest number if it does not
// say.
std::size_t free_host_memory();

}  // namespace sfnn
