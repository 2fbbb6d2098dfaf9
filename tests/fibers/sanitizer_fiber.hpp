// Tells the sanitizer that is built in, if any, which stack is running: one object per stack.
#pragma once

#include <cstddef>

#ifdef SFNN_SIMT_TSAN
#include <sanitizer/tsan_interface.h>
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace sfnn::simt {

#ifdef SFNN_SIMT_TSAN
inline void release(void* at) { __tsan_release(at); }
inline void acquire(void* at) { __tsan_acquire(at); }
#else
inline void release(void*) {}
inline void acquire(void*) {}
#endif

class SanitizerFiber {
 public:
  SanitizerFiber() = default;  // the stack that is running
  SanitizerFiber([[maybe_unused]] const void* stack, [[maybe_unused]] std::size_t size) {
#ifdef SFNN_SIMT_TSAN
    thread_ = __tsan_create_fiber(0);
    owned_ = true;
#endif
#ifdef __SANITIZE_ADDRESS__
    stack_ = stack, size_ = size;
#endif
  }
  SanitizerFiber(const SanitizerFiber&) = delete;
  SanitizerFiber& operator=(const SanitizerFiber&) = delete;
  ~SanitizerFiber() {
#ifdef SFNN_SIMT_TSAN
    if (owned_) __tsan_destroy_fiber(thread_);
#endif
  }

  // Before the jump. last: this stack will not be seen again.
  void leave_for([[maybe_unused]] SanitizerFiber& to, [[maybe_unused]] bool last = false) {
#ifdef SFNN_SIMT_TSAN
    __tsan_switch_to_fiber(to.thread_, __tsan_switch_to_fiber_no_sync);  // orders nothing
#endif
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(last ? nullptr : &fake_stack_, to.stack_, to.size_);
#endif
  }
  // After the jump, on the stack jumped to.
  void arrive_from([[maybe_unused]] SanitizerFiber& from) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(fake_stack_, &from.stack_, &from.size_);
#endif
  }

 private:
#ifdef SFNN_SIMT_TSAN
  void* thread_ = __tsan_get_current_fiber();
  bool owned_ = false;
#endif
#ifdef __SANITIZE_ADDRESS__
  const void* stack_ = nullptr;
  std::size_t size_ = 0;
  void* fake_stack_ = nullptr;
#endif
};

}  // namespace sfnn::simt
