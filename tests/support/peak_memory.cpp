#include "tests/support/peak_memory.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

thread_local std::ptrdiff_t live = 0, most = 0;  // negative if earlier memory is freed

}  // namespace

void* operator new(std::size_t size) {
  void* const data = std::malloc(size ? size : 1);
  if (data == nullptr) throw std::bad_alloc();
  live += std::ptrdiff_t(::malloc_usable_size(data));
  most = std::max(most, live);
  return data;
}
void operator delete(void* data) noexcept {
  live -= std::ptrdiff_t(::malloc_usable_size(data));
  std::free(data);
}
void operator delete(void* data, std::size_t) noexcept { operator delete(data); }

// libFuzzer's own code keeps the sanitizer's operator new, and may meet the operator delete above.
extern "C" const char* __asan_default_options() { return "alloc_dealloc_mismatch=0"; }

namespace sfnn {

std::size_t peak_memory(FunctionRef<void()> work) {
  const std::ptrdiff_t before = most = live;
  work();
  return std::size_t(most - before);
}

}  // namespace sfnn
