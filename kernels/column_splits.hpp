// Into how many runs the rows of a column sum are cut. Depends on the shape alone, never on the
// device, because it decides the order of the sum.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sfnn {

constexpr std::int64_t kMaxColumnSplits = 64;

inline std::int64_t column_splits(std::int64_t rows) {
  constexpr std::int64_t kRowsOfOneLaunch = 4096, kRowsPerSplit = 2048;
  if (rows <= kRowsOfOneLaunch) return 1;
  return std::min(kMaxColumnSplits, (rows + kRowsPerSplit - 1) / kRowsPerSplit);
}

}  // namespace sfnn
