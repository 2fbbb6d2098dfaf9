// Tile registers in memory: what AMX does, for machines that have none. See
// host/backend/cpu/tile_kernel.hpp.
#pragma once

#include <cstring>

#include "host/backend/cpu/tile_kernel.hpp"

namespace sfnn {

class EmulatedTiles {
 public:
  EmulatedTiles() { std::memset(tiles_, 0xA5, sizeof tiles_); }  // whatever was there before

  template <int t>
  void zero() {
    std::memset(tiles_[t].bytes, 0, kTileBytes);
  }
  template <int t>
  void load(const void* from) {
    std::memcpy(tiles_[t].bytes, from, kTileBytes);
  }
  template <int t>
  void store(void* to) const {
    std::memcpy(to, tiles_[t].bytes, kTileBytes);
  }
  // TDPBUSD: four neighbouring bytes of a row of A, times four of a row of B, per sum.
  template <int sums, int A, int B>
  void multiply_add() {
    for (int m = 0; m < kTileRows; ++m)
      for (int k = 0; k < kTileInputs / 4; ++k)
        for (int n = 0; n < kTileColumns; ++n)
          for (int j = 0; j < 4; ++j)
            tiles_[sums].sums[m][n] += int(tiles_[A].bytes[64 * m + 4 * k + j]) *
                                       int(std::int8_t(tiles_[B].bytes[64 * k + 4 * n + j]));
  }

 private:
  union Tile {
    std::uint8_t bytes[kTileBytes];
    TileSums sums;
  };
  alignas(64) Tile tiles_[8];
};

}  // namespace sfnn
