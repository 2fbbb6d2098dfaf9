// Memory that only grows: after the first steps it is as large as it ever will be, so that a step
// allocates nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>

namespace sfnn {

template <class T>
class GrowingBuffer {
  static_assert(std::is_trivial_v<T>);

 public:
  // Room for `count` elements on a 64-byte border. What was there before is lost if it grows.
  T* room(std::size_t count) {
    if (count > capacity_) {
      data_.reset();
      capacity_ = 0;  // should the next line throw
      data_.reset(static_cast<T*>(::operator new(count * sizeof(T), kAlign)));
      capacity_ = count;
    }
    return data_.get();
  }

 private:
  static constexpr std::align_val_t kAlign{64};
  struct Free {
    void operator()(T* data) const { ::operator delete(data, kAlign); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t capacity_ = 0;
};

}  // namespace sfnn
