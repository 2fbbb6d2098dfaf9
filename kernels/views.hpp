// Views of memory that belongs to a backend. They own nothing and are passed by value, to kernels
// too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/hd.hpp"

namespace sfnn {

// Row-major, contiguous, in the backend's memory: only its ops may follow the pointer.
template <class T>
struct MatrixView {
  T* data = nullptr;
  std::int64_t rows = 0, cols = 0;

  SFNN_HD std::int64_t size() const { return rows * cols; }
  SFNN_HD T* row(std::int64_t r) const { return data + r * cols; }
  MatrixView top(std::int64_t count) const { return {data, count, cols}; }
  template <class U, class = std::enable_if_t<!std::is_const_v<T> && std::is_same_v<U, const T>>>
  operator MatrixView<U>() const {  // NOLINT(google-explicit-constructor): as T* to const T*
    return {data, rows, cols};
  }
};
using Matrix = MatrixView<float>;
using ConstMatrix = MatrixView<const float>;

// A 0/1 matrix, stored as its backend chooses (packed bits on the CPU, a tensor-core type on a
// GPU).
template <class T>
struct BitsView {
  T* data = nullptr;
  std::int64_t rows = 0, cols = 0;

  BitsView top(std::int64_t count) const { return {data, count, cols}; }
  template <class U, class = std::enable_if_t<!std::is_const_v<T> && std::is_same_v<U, const T>>>
  operator BitsView<U>() const {  // NOLINT(google-explicit-constructor): as T* to const T*
    return {data, rows, cols};
  }
};
using Bits = BitsView<std::byte>;
using ConstBits = BitsView<const std::byte>;

// Which rows of a per-particle matrix a compacted one holds: row i of it is row index[i] of the
// whole, ascending.
struct RowSet {
  const std::int32_t* index = nullptr;  // null: all rows, in place
  std::int64_t count = 0;
  // Null, or the address of the count in the backend's memory; `count` is then its upper bound.
  const std::int32_t* device_count = nullptr;

  SFNN_HD bool all() const { return index == nullptr; }
  SFNN_HD std::int64_t source(std::int64_t i) const { return index ? index[i] : i; }
};

}  // namespace sfnn
