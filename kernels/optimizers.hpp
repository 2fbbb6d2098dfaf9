// The optimisers' table: one row says which arrays an optimiser keeps beside the parameters. The
// memory plan, checkpoints, resuming and the search for bad numbers follow from the rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sfnn {

enum class OptimizerKind : std::int32_t { sgd, nesterov, adam, adamw };

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
  constexpr bool is_adam() const { return id == OptimizerKind::adam || id == OptimizerKind::adamw; }
};

// What each does with its arrays is in step_at (kernels/update.hpp).
inline constexpr std::array<OptimizerRow, 4> kOptimizers{{
    {OptimizerKind::sgd, "sgd", {"velocity"}},
    {OptimizerKind::nesterov, "nesterov", {"velocity"}},
    {OptimizerKind::adam, "adam", {"m", "v"}},
    {OptimizerKind::adamw, "adamw", {"m", "v"}},
}};

constexpr const OptimizerRow& row_of(OptimizerKind kind) { return kOptimizers[std::size_t(kind)]; }

}  // namespace sfnn
