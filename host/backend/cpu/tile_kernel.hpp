// The inner loop of a product in tile registers, over any implementation of the registers: those of
// the machine (amx.cpp), or loops that do the same (tests/support/emulated_tiles.hpp).
//
// A register holds 16 rows of 64 bytes. One multiplication takes 16 rows of 64 inputs, each a byte
// of 0 or 1, with 64 inputs of 16 columns, each a digit of W, and adds to 16 x 16 sums of int32.
#pragma once

#include <cstdint>

#include "host/base/function_ref.hpp"

namespace sfnn {

constexpr std::int64_t kTileRows = 16, kTileColumns = 16, kTileInputs = 64, kTileBytes = 1024;
constexpr std::int64_t kPairRows = 2 * kTileRows, kPairColumns = 2 * kTileColumns;
constexpr int kDigits = 3;  // of W, the lowest first

using TileSums = std::int32_t[kTileRows][kTileColumns];

// The sums of a pair of row tiles: by digit, row tile and column tile.
struct alignas(64) PairSums {
  TileSums of[kDigits][2][2];
};

struct TileProductArgs {
  const std::uint8_t* A;  // [row pairs, steps, 2, 16 rows, 64 inputs]
  // [kDigits, steps, column tiles, 16, 64]: byte 4 c + j of row i is of input 4 i + j, column c
  const std::int8_t* B;
  std::int64_t row_pairs, steps;                                   // a step is 64 inputs
  int column_tiles;                                                // 1 or 2
  FunctionRef<void(std::int64_t row_pair, const PairSums&)> take;  // given every pair's sums
};

using TileKernel = void (*)(const TileProductArgs&);

// Registers 0 to 3 hold sums, 4 and 5 two tiles of A, 6 and 7 two of B: a load for each
// multiplication, which takes twice as long.
template <int kColumnTiles, class Tiles>
void sum_digit(Tiles& tiles, const std::uint8_t* a, const std::int8_t* b, std::int64_t steps,
               TileSums (&sums)[2][2]) {
  tiles.template zero<0>();
  tiles.template zero<1>();
  tiles.template zero<2>();
  tiles.template zero<3>();
  for (std::int64_t s = 0; s < steps; ++s, a += 2 * kTileBytes, b += kColumnTiles * kTileBytes) {
    tiles.template load<4>(a);
    tiles.template load<5>(a + kTileBytes);
    tiles.template load<6>(b);
    tiles.template multiply_add<0, 4, 6>();
    tiles.template multiply_add<2, 5, 6>();
    if constexpr (kColumnTiles == 2) {
      tiles.template load<7>(b + kTileBytes);
      tiles.template multiply_add<1, 4, 7>();
      tiles.template multiply_add<3, 5, 7>();
    }
  }
  tiles.template store<0>(sums[0][0]);
  tiles.template store<2>(sums[1][0]);
  if constexpr (kColumnTiles == 2) {
    tiles.template store<1>(sums[0][1]);
    tiles.template store<3>(sums[1][1]);
  }
}

// The rows of A stay in the first-level cache for all digits.
template <int kColumnTiles, class Tiles>
void multiply_pairs(const TileProductArgs& p) {
  Tiles tiles;  // owns the registers until the end
  PairSums sums;
  for (std::int64_t pair = 0; pair < p.row_pairs; ++pair) {
    const std::uint8_t* a = p.A + pair * p.steps * 2 * kTileBytes;
    for (int digit = 0; digit < kDigits; ++digit) {
      const std::int8_t* b = p.B + digit * p.steps * kColumnTiles * kTileBytes;
      sum_digit<kColumnTiles>(tiles, a, b, p.steps, sums.of[digit]);
    }
    p.take(pair, sums);
  }
}

template <class Tiles>
void tile_kernel(const TileProductArgs& p) {
  if (p.column_tiles == 1) {
    multiply_pairs<1, Tiles>(p);
  } else {
    multiply_pairs<2, Tiles>(p);
  }
}

}  // namespace sfnn
