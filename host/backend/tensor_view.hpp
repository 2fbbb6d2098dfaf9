// Views of memory that belongs to a backend. They own nothing and are passed by value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace sfnn {

// Row-major, contiguous, in the backend's memory: only its ops may follow the pointer.
template <class T>
struct MatrixView {
  T* data = nullptr;
  std::int64_t rows = 0, cols = 0;

  std::int64_t size() const { return rows * cols; }
  MatrixView top(std::int64_t count) const { return {data, count, cols}; }
  operator MatrixView<const T>() const requires(!std::is_const_v<T>) { return {data, rows, cols}; }
};
using Matrix = MatrixView<float>;
using ConstMatrix = MatrixView<const float>;

// A 0/1 matrix, stored as its backend likes (packed bits on the CPU, a type the tensor cores like
// on a GPU).
template <class T>
struct BitsView {
  T* data = nullptr;
  std::int64_t rows = 0, cols = 0;

  BitsView top(std::int64_t count) const { return {data, count, cols}; }
  operator BitsView<const T>() const requires(!std::is_const_v<T>) { return {data, rows, cols}; }
};
using Bits = BitsView<std::byte>;
using ConstBits = BitsView<const std::byte>;

// Which rows of a per-particle matrix a compacted one holds: row i of it is row index[i] of the
// whole, ascending.
struct RowSet {
  const std::int32_t* index = nullptr;  // null: all rows, in place
  std::int64_t count = 0;

  bool all() const { return index == nullptr; }
};

}  // namespace sfnn
