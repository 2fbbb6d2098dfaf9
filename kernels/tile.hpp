// Arguments that all kinds of ops share: which rows they work on, and what they draw with.
//
// Rows: a tile holds N examples with M particles each. A *shared* matrix has N rows, a per-particle
// one N*M (row r = n*M + m); ops that take either tell them apart by their row count.
#pragma once

#include <cstdint>

#include "kernels/hd.hpp"

namespace sfnn {

// A run of examples of the batch with all their particles, or with a chunk of them.
struct Tile {
  std::int64_t first = 0;     // its first example in the batch (training) or data set (evaluation)
  std::int64_t N = 0, M = 1;  // examples, particles
  std::int64_t first_particle = 0;  // evaluation streams over particles in chunks

  SFNN_HD std::int64_t rows() const { return N * M; }
  // The row of a matrix of `height` rows, one per example or one per particle, for particle row r.
  SFNN_HD std::int64_t row_in(std::int64_t height, std::int64_t r) const {
    return height == rows() ? r : r / M;
  }
};

// What a drawing op draws with; the step comes from the clock.
struct Draw {
  std::uint64_t seed = 0;
  std::uint32_t site = 0;
  bool same_for_every_row = false;  // hidden units: every example draws what example 0 would

  // The example in the draw's index.
  SFNN_HD std::int64_t example(std::int64_t row) const { return same_for_every_row ? 0 : row; }
};

// Who draws in particle row r of a tile: see kernels/philox.hpp.
struct DrawingRow {
  std::uint32_t example = 0, particle = 0;
};
SFNN_HD DrawingRow drawing_row(const Tile& tile, const Draw& draw, std::int64_t r) {
  return {std::uint32_t(draw.example(tile.first + r / tile.M)),
          std::uint32_t(tile.first_particle + r % tile.M)};
}

// What changes from step to step. A backend that replays a captured step keeps it in device memory.
struct Clock {
  std::uint32_t step = 0;
  float learning_rate = 0;
  float m_scale = 1, v_scale = 1;  // Adam's bias: 1 / (1 - beta1^t), 1 / sqrt(1 - beta2^t)
  float average_share = 1;         // of the new parameters in their moving average
  std::int64_t first = 0;  // position in the epoch's order at which this step's batch begins
};

}  // namespace sfnn
