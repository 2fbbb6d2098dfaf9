// Which rows are used for what. Every choice depends on data.seed alone.
#pragma once

#include <cstdint>
#include <vector>

#include "host/data/dataset.hpp"
#include "kernels/philox.hpp"

namespace sfnn {

// The step of a draw that belongs to data, not to training: test examples have draws of their own.
constexpr std::uint32_t kTrainPart = 0, kTestPart = kEvaluationStep;

// 0 .. count - 1 in the order of their Philox keys.
std::vector<std::int32_t> permutation(const DrawKey&, std::int64_t count);

struct Split {
  std::vector<std::int32_t> train, valid;  // rows of the file, ascending
};

// data.valid of the `count` rows, drawn by data.seed, are for validation, whatever the limit; the
// first data.limit of the others are for training.
Split split_rows(std::int64_t count, const DataOptions&);  // throws ConfigError

std::vector<std::int32_t> all_rows(std::int64_t count);

// How many of `count` rows are used; a limit of zero means no limit.
std::int64_t limited(std::int64_t count, std::int64_t limit);

}  // namespace sfnn
