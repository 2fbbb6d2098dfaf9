#include "host/data/split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "host/base/error.hpp"

namespace sfnn {

std::vector<std::int32_t> all_rows(std::int64_t count) {
  if (count > std::numeric_limits<std::int32_t>::max())
    throw DataError(fmt::format("{} examples are more than the 2^31 - 1 of one data set", count));
  std::vector<std::int32_t> rows(count);
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

std::int64_t limited(std::int64_t count, std::int64_t limit) {
  return limit > 0 ? std::min(count, limit) : count;
}

std::vector<std::int32_t> permutation(const DrawKey& key, std::int64_t count) {
  std::vector<std::int32_t> order = all_rows(count);
  std::vector<std::uint64_t> keys(count);
  for (const std::int32_t row : order) {
    keys[row] = shuffle_key(key, std::uint32_t(row));
  }
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return std::pair(keys[a], a) < std::pair(keys[b], b);
  });
  return order;
}

Split split_rows(std::int64_t count, const DataOptions& options) {
  if (options.valid >= count)
    throw ConfigError(fmt::format("data.valid = {} leaves none of the {} examples to train on",
                                  options.valid, count));
  const auto order = permutation({options.seed, kTrainPart, kSiteSplit}, count);
  const auto border = order.begin() + options.valid;
  Split split{{border, order.end()}, {order.begin(), border}};
  std::sort(split.train.begin(), split.train.end());
  std::sort(split.valid.begin(), split.valid.end());
  split.train.resize(limited(std::int64_t(split.train.size()), options.limit));
  return split;
}

}  // namespace sfnn
