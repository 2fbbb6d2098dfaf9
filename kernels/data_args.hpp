// Ops on data: memory, examples, their order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/philox.hpp"
#include "kernels/tile.hpp"
#include "kernels/views.hpp"

namespace sfnn {

struct FillZeroArgs {
  static constexpr const char* kName = "fill_zero";
  std::byte* data = nullptr;
  std::size_t bytes = 0;
};

// One column block of a data set, in memory that the backend can read.
struct DataColumns {
  enum class Type { u8, f32 };
  const std::byte* data = nullptr;
  Type type = Type::f32;
  std::int64_t rows = 0, cols = 0;
  float scale = 1;  // value = stored * scale; 1/255 for grey bytes
};

// x or y of a tile: out[n] = the row of example clock.first + tile.first + n, binarised, centred,
// with noise. Draws are keyed by the example's row in the data set.
struct GatherArgs {
  static constexpr const char* kName = "gather";
  DataColumns data;
  const std::int32_t* order = nullptr;  // [rows] the epoch's permutation; null: as stored
  Tile tile;
  bool binarize = false;  // out = (u <= value)
  Draw binarize_draw;
  const float* mean = nullptr;           // [cols], taken off the value; null: none
  const float* inverse_scale = nullptr;  // [cols], multiplies what is left; null: nothing does
  float noise = 0;                       // standard deviation of Gaussian noise added to the value
  Draw noise_draw;
  Matrix out;  // [N, cols]
  // Position of the tile's first example in `data`, if data holds a window of examples in the order
  // in which they are asked for (see RowFeed); -1: data holds all of them, each in its own row.
  std::int64_t place = -1;

  SFNN_HD std::int64_t stored_row(std::int64_t n, std::int64_t row) const {
    return place < 0 ? row : place + n;
  }
};

// order = 0 .. count - 1, sorted by shuffle_key
struct ShuffleArgs {
  static constexpr const char* kName = "shuffle";
  DrawKey key{};
  std::int64_t count = 0;
  std::int32_t* order = nullptr;  // [count]
};

}  // namespace sfnn
