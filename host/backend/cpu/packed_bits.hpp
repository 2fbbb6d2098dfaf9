// How the CPU keeps a 0/1 matrix: one bit per unit, rows padded with zeros to whole 64-bit words.
#pragma once

#include <cstdint>

#include "kernels/views.hpp"

namespace sfnn {

constexpr std::int64_t words_per_row(std::int64_t cols) { return (cols + 63) / 64; }

inline const std::uint64_t* row_words(ConstBits s, std::int64_t r) {
  return reinterpret_cast<const std::uint64_t*>(s.data) + r * words_per_row(s.cols);
}

inline std::uint64_t* row_words(Bits s, std::int64_t r) {
  return reinterpret_cast<std::uint64_t*>(s.data) + r * words_per_row(s.cols);
}

inline bool bit_at(const std::uint64_t* row, std::int64_t i) { return row[i / 64] >> (i % 64) & 1; }

// 64 bits of a row from bit `first` on; zeros beyond its end.
inline std::uint64_t bits_from(const std::uint64_t* row, std::int64_t words, std::int64_t first) {
  const std::int64_t i = first / 64, shift = first % 64;
  const std::uint64_t low = row[i] >> shift;
  return shift == 0 || i + 1 >= words ? low : low | row[i + 1] << (64 - shift);
}

}  // namespace sfnn
