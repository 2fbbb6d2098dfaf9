// "Did you mean ...?", for words that people type.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace sfnn {

// Edit distance: how many letters must be changed, added or removed.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t(0));
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

// Is one a misspelling of the other? Two letters of five may be wrong; a short word has no
// neighbours, for a wrong guess is worse than none.
inline bool is_near(std::string_view typed, std::string_view known) {
  const std::size_t length = std::min(typed.size(), known.size());
  return edit_distance(typed, known) <= (length < 3 ? 0 : length * 2 / 5);
}

}  // namespace sfnn
