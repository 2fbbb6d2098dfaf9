// What the ops are told: plain structs, the same for every backend, passed by value to a kernel
// too.
//
// Rows: a tile holds N examples with M particles each. A *shared* matrix has N rows, a per-particle
// one N*M (row r = n*M + m); ops that take either tell them apart by their row count.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/hd.hpp"
#include "kernels/hidden_grad.hpp"
#include "kernels/output.hpp"
#include "kernels/views.hpp"

namespace sfnn {

// A run of examples of the batch with all their particles, or with a chunk of them.
struct Tile {
  std::int64_t first = 0;     // its first example in the batch (training) or data set (evaluation)
  std::int64_t N = 0, M = 1;  // examples, particles
  std::int64_t first_particle = 0;  // evaluation streams over particles in chunks

  SFNN_HD std::int64_t rows() const { return N * M; }
  // The row of a matrix of `height` rows, one an example or one a particle, for particle row r.
  SFNN_HD std::int64_t row_in(std::int64_t height, std::int64_t r) const {
    return height == rows() ? r : r / M;
  }
};

// What a drawing op draws with; the step comes from the clock.
struct Draw {
  std::uint64_t seed = 0;
  std::uint32_t site = 0;
};

// What changes from step to step. A backend that replays a captured step keeps it in device memory.
struct Clock {
  std::uint32_t step = 0;
  float learning_rate = 0;
  std::int64_t first = 0;  // where in the epoch's order this step's batch begins
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
  DataColumns data;
  const std::int32_t* order = nullptr;  // [rows] the epoch's permutation; null: as stored
  Tile tile;
  bool binarize = false;  // out = (u <= value)
  Draw binarize_draw;
  const float* mean = nullptr;  // [cols], taken off the value; null: none
  float noise = 0;              // standard deviation of Gaussian noise added to the value
  Draw noise_draw;
  Matrix out;  // [N, cols]
  // Where in `data` the tile's first example lies, if data holds a window of examples in the order
  // in which they are asked for (see RowFeed); -1: data holds all of them, each in its own row.
  std::int64_t place = -1;

  SFNN_HD std::int64_t stored_row(std::int64_t n, std::int64_t row) const {
    return place < 0 ? row : place + n;
  }
};

// s = (u <= sigma(a + b)), u drawn by (example, particle, unit).
struct SampleArgs {
  Draw draw;
  Tile tile;
  ConstMatrix a;             // [N or N*M, n_s] = z W_s; data null: p = 1/2
  const float* b = nullptr;  // [n_s]
  Bits s;                    // [N*M, n_s]
};

// o and what it is compared with.
struct OutputArgs {
  Output output = Output::bernoulli;
  Tile tile;
  ConstMatrix o;             // [N*M, D_out] = z V, without c
  const float* c = nullptr;  // [D_out]
  ConstMatrix y;             // [N, D_out]; softmax: [N, 1], the class as a number
};

// g_a of a layer's stochastic units. a is without its bias: p = sigma(a + b).
struct HiddenGradArgs {
  Estimator estimator = Estimator::G3;
  Tile tile;
  ConstMatrix a;                    // [N or N*M, n_s] = z W_s
  const float* b = nullptr;         // [n_s]
  ConstBits s;                      // [N*M, n_s]; unused by path estimators
  const float* w_bar = nullptr;     // [N*M]
  const float* C_hat = nullptr;     // [N]
  const float* baseline = nullptr;  // [2, n_s]: E[score^2], E[score^2 L] before this step (G1)
  float c = 0;                      // G5's constant
  RowSet rows;                      // the rows that g holds, where it is per particle
  // path: in G(h), out g_a; score: out. [N, n_s], summed over particles, where a is shared; else
  // [rows.count, n_s]
  Matrix g;
};

struct UpdateArgs {
  float* params = nullptr;       // [size]
  float* velocity = nullptr;     // [size]
  const float* parts = nullptr;  // [part_count, part_stride]: sums of gradients, added in order
  std::int64_t size = 0, part_count = 0, part_stride = 0;
  float scale = 1;  // 1 / batch size
  float momentum = 0.9f;
};

// L_bar's averages: avg = decay * avg + (1 - decay) * sum / rows; the first step starts them.
struct BaselineUpdateArgs {
  float* averages = nullptr;     // [size]
  const float* parts = nullptr;  // [part_count, part_stride]
  std::int64_t size = 0, part_count = 0, part_stride = 0;
  float scale = 1;  // 1 / (N*M) of the whole batch
  float decay = 0.99f;
};

}  // namespace sfnn
