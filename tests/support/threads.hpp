// How many threads a test uses: its own choice, or SFNN_THREADS, which the thread sanitizer's
// preset sets to 8.
#pragma once

#include <cstdlib>

namespace sfnn {

inline int test_threads(int otherwise) {
  const char* const asked = std::getenv("SFNN_THREADS");
  return asked ? std::atoi(asked) : otherwise;
}

}  // namespace sfnn
