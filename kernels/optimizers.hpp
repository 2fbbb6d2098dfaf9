// The optimisers' table: one row says which arrays an optimiser keeps beside the parameters. The
// memory plan, checkpoints, resuming and the search for bad numbers follow from the rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sfnn {

enum class OptimizerKind : std::int32_t { sgd };

constexpr int kMaxOptimizerArrays = 2;

struct OptimizerRow {
  OptimizerKind id;
  std::string_view name;
  // Each laid out as the parameters, zero at first; those that are not used have no name.
  std::array<std::string_view, kMaxOptimizerArrays> array_names;

  constexpr int arrays() const {
    int count = 0;
    for (const std::string_view array : array_names) count += !array.empty();
    return count;
  }
};

// sgd: v = momentum * v + g; params += rate * v.
inline constexpr std::array<OptimizerRow, 1> kOptimizers{{
    {OptimizerKind::sgd, "sgd", {"velocity"}},
}};

constexpr const OptimizerRow& row_of(OptimizerKind kind) { return kOptimizers[std::size_t(kind)]; }

}  // namespace sfnn
