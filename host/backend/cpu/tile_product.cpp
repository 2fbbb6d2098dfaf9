#include "host/backend/cpu/tile_product.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "host/backend/cpu/bit_product.hpp"
#include "host/backend/cpu/growing_buffer.hpp"
#include "host/backend/cpu/packed_bits.hpp"
#include "host/backend/cpu/simd.hpp"
#include "host/backend/team.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "host/backend/cpu/tile_product.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once per instruction set.
#include "host/backend/cpu/simd_math-inl.hpp"

#ifndef SFNN_HOST_BACKEND_CPU_TILE_PRODUCT_ONCE
#define SFNN_HOST_BACKEND_CPU_TILE_PRODUCT_ONCE
namespace sfnn {

// Inputs at a time: 8192. Each slab has scales of its own and is added to what is there.
constexpr std::int64_t kSlabSteps = 128;
constexpr std::int64_t kMaxRows = 1024, kMaxBytes = std::int64_t(4) << 20;  // of A at a time
static_assert(kMaxBytes / (kSlabSteps * kTileInputs) >= kPairRows);

// Up to 32 columns of W, to be cut into digits.
struct DigitArgs {
  const float* W;
  std::int64_t stride, inputs, columns;
  std::int64_t steps;
  std::int8_t* B;  // as in TileProductArgs
  float* scale;    // [kPairColumns]

  std::int64_t column_tiles() const { return (columns + kTileColumns - 1) / kTileColumns; }
};

struct CombineArgs {
  const PairSums& sums;
  const float* scale;  // [kPairColumns]
  std::int64_t rows, columns;
  Matrix out;
  std::int64_t first_row, first_column;
  bool add;
};

// A column's scale and its inverse, from the bits of its largest magnitude.
struct ColumnScale {
  explicit ColumnScale(std::uint32_t largest) {
    constexpr std::uint32_t kInfinity = 0x7F800000u;
    if (largest >= kInfinity) return;
    // 2^exponent is more than the largest, by 1/64 at least: 127 is the highest digit, not 128.
    // From 2^-103 on the scale is a normal number.
    const int exponent = std::max(int((largest + 0x20000u) >> 23) - 126, -103);
    scale = std::bit_cast<float>(std::uint32_t(exponent - 23 + 127) << 23);
    inverse = std::bit_cast<float>(std::uint32_t(23 - exponent + 127) << 23);
  }

  float scale = std::numeric_limits<float>::quiet_NaN(), inverse = 0;
};

}  // namespace sfnn
#endif

HWY_BEFORE_NAMESPACE();
namespace sfnn {
namespace HWY_NAMESPACE {

using U32 = hn::RebindToUnsigned<F32>;
using VU = hn::Vec<U32>;

// Four inputs of a column, one after another in the bytes of a lane, for each of the digits. q plus
// 0x808080 has the digits, each plus 128, for its bytes.
HWY_INLINE void store_digits(const VU (&q)[4], std::int8_t* to, std::int64_t digit_stride) {
  const U32 d;
  const VU even = hn::Set(d, 0x00FF00FFu), odd = hn::Set(d, 0xFF00FF00u);
  const VU low = hn::Set(d, 0x0000FFFFu), high = hn::Set(d, 0xFFFF0000u);
  const auto store = [&](int digit, VU v) HWY_ATTR {
    const VU digits = hn::Xor(v, hn::Set(d, 0x80808080u));
    hn::StoreU(digits, d, reinterpret_cast<std::uint32_t*>(to + digit * digit_stride));
  };
  // Digits 0 and 2, and digit 1, of two inputs each.
  const VU a02 = hn::Or(hn::And(q[0], even), hn::And(hn::ShiftLeft<8>(q[1]), odd));
  const VU b02 = hn::Or(hn::And(q[2], even), hn::And(hn::ShiftLeft<8>(q[3]), odd));
  const VU a1 = hn::Or(hn::And(hn::ShiftRight<8>(q[0]), even), hn::And(q[1], odd));
  const VU b1 = hn::Or(hn::And(hn::ShiftRight<8>(q[2]), even), hn::And(q[3], odd));
  store(0, hn::Or(hn::And(a02, low), hn::ShiftLeft<16>(b02)));
  store(1, hn::Or(hn::And(a1, low), hn::ShiftLeft<16>(b1)));
  store(2, hn::Or(hn::ShiftRight<16>(a02), hn::And(b02, high)));
}

// One vector of columns, from column c on.
template <class Lanes>
HWY_INLINE void cut_columns(const DigitArgs& p, Lanes lanes, std::int64_t c) {
  const F32 d;
  const U32 du;
  VU largest = hn::Zero(du);  // magnitudes compare like their bits; a NaN is above all
  for (std::int64_t k = 0; k < p.inputs; ++k)
    largest = hn::Max(largest, hn::BitCast(du, hn::Abs(lanes.load(p.W + k * p.stride + c))));
  HWY_ALIGN std::uint32_t bits[kFloatLanes];
  HWY_ALIGN float inverses[kFloatLanes];
  hn::Store(largest, du, bits);
  for (std::int64_t i = 0; i < kFloatLanes; ++i) {
    const ColumnScale column(bits[i]);
    if (c + i < p.columns) p.scale[c + i] = column.scale;
    inverses[i] = column.inverse;
  }
  const VF inverse = hn::Load(d, inverses);
  const VU middle = hn::Set(du, 0x808080u);
  const std::int64_t tiles = p.column_tiles(), tile = c / kTileColumns;
  for (std::int64_t k = 0; k < p.steps * kTileInputs; k += 4) {
    VU q[4];
    for (std::int64_t j = 0; j < 4; ++j) {
      const VF w = k + j < p.inputs ? lanes.load(p.W + (k + j) * p.stride + c) : hn::Zero(d);
      q[j] = hn::Add(hn::BitCast(du, hn::NearestInt(hn::Mul(w, inverse))), middle);
    }
    const std::int64_t step = k / kTileInputs, row = k % kTileInputs / 4;
    store_digits(q, p.B + (step * tiles + tile) * kTileBytes + row * 64 + c % kTileColumns * 4,
                 p.steps * tiles * kTileBytes);
  }
}

void cut_into_digits(const DigitArgs& p) {
  const std::int64_t bytes = kDigits * p.steps * p.column_tiles() * kTileBytes;
  if (p.columns % kTileColumns != 0) std::fill_n(p.B, bytes, std::int8_t(0));
  for_vectors(p.columns, [&](auto lanes, std::int64_t c) HWY_ATTR { cut_columns(p, lanes, c); });
}

// out (+)= scale (d_0 + 2^8 d_1 + 2^16 d_2)
void combine(const CombineArgs& p) {
  const F32 d;
  const hn::RebindToSigned<F32> di;
  const VF base = hn::Set(d, 256.0f);
  for (std::int64_t r = 0; r < p.rows; ++r) {
    float* out = p.out.row(p.first_row + r) + p.first_column;
    for_vectors(p.columns, [&](auto lanes, std::int64_t c) HWY_ATTR {
      const auto digit = [&](int i) HWY_ATTR {
        const TileSums& sums = p.sums.of[i][r / kTileRows][c / kTileColumns];
        return hn::ConvertTo(d, hn::Load(di, &sums[r % kTileRows][c % kTileColumns]));
      };
      const VF sum = hn::MulAdd(hn::MulAdd(digit(2), base, digit(1)), base, digit(0));
      const VF scale = hn::Load(d, p.scale + c);
      lanes.store(p.add ? hn::MulAdd(sum, scale, lanes.load(out + c)) : hn::Mul(sum, scale),
                  out + c);
    });
  }
}

// 64 bits become 64 bytes.
void expand(std::uint64_t word, std::uint8_t* to) {
  const hn::CappedTag<std::uint8_t, 64> d;
  constexpr std::int64_t kLanes = hn::MaxLanes(hn::CappedTag<std::uint8_t, 64>());
  for (std::int64_t i = 0; i < 64; i += kLanes) {
    const std::uint64_t bits = word >> i;
    const auto mask = hn::LoadMaskBits(d, reinterpret_cast<const std::uint8_t*>(&bits));
    hn::Store(hn::IfThenElseZero(mask, hn::Set(d, std::uint8_t(1))), d, to + i);
  }
}

// One step of 16 rows.
void expand_tile(const std::uint64_t (&words)[kTileRows], std::uint8_t* tile) {
  for (std::int64_t r = 0; r < kTileRows; ++r) expand(words[r], tile + r * kTileInputs);
}

}  // namespace HWY_NAMESPACE
}  // namespace sfnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sfnn {
namespace {

HWY_EXPORT(cut_into_digits);
HWY_EXPORT(combine);
HWY_EXPORT(expand_tile);

struct Scratch {
  GrowingBuffer<std::uint64_t> transposed;
  GrowingBuffer<std::uint8_t> A;
  GrowingBuffer<std::int8_t> B;
};
thread_local Scratch scratch;  // each thread that does a block of columns has its own

constexpr std::int64_t kRowUnit = 64;       // whole words of transposed bits
constexpr std::int64_t kTransposeWork = 4;  // steps that a word takes

std::int64_t parts_of(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }

// Rows and inputs of the 0/1 matrix that are multiplied at a time.
struct Piece {
  std::int64_t first_row, rows, first_step, steps;

  std::int64_t row_tiles() const { return 2 * parts_of(rows, kPairRows); }
};
using Words = std::uint64_t[kTileRows];
// words[r] = inputs 64 step .. 64 step + 63 of row `row` + r; rows beyond the last are zero.
using ReadWords = FunctionRef<void(std::int64_t row, std::int64_t step, Words& words)>;

struct Product {
  TileKernel kernel;
  std::int64_t rows, inputs;  // of the 0/1 matrix
  std::int64_t most_inputs;   // in other steps
  ReadWords read;
  const float* W;  // [inputs, out.cols]
  Matrix out;
  bool add;

  std::int64_t slab_steps() const {
    return std::min(kSlabSteps, parts_of(most_inputs, kTileInputs));
  }
  std::int64_t most_rows() const {
    const std::int64_t by_memory = kMaxBytes / (slab_steps() * kTileInputs);
    return std::min(kMaxRows, by_memory / kRowUnit * kRowUnit);
  }
};

void multiply_columns(const Product& p, const Piece& piece, const std::uint8_t* A,
                      std::int64_t block) {
  const std::int64_t first = block * kPairColumns;
  const std::int64_t first_input = piece.first_step * kTileInputs;
  alignas(64) float scale[kPairColumns] = {};
  const DigitArgs digits{
      .W = p.W + first_input * p.out.cols + first,
      .stride = p.out.cols,
      .inputs = std::min(p.inputs - first_input, piece.steps * kTileInputs),
      .columns = std::min(kPairColumns, p.out.cols - first),
      .steps = piece.steps,
      .B = scratch.B.room(std::size_t(kDigits * p.slab_steps() * 2 * kTileBytes)),
      .scale = scale};
  HWY_DYNAMIC_DISPATCH(cut_into_digits)(digits);
  p.kernel({A, digits.B, piece.row_tiles() / 2, piece.steps, int(digits.column_tiles()),
            [&](std::int64_t pair, const PairSums& sums) {
              const std::int64_t row = pair * kPairRows;
              HWY_DYNAMIC_DISPATCH(combine)
              ({.sums = sums,
                .scale = scale,
                .rows = std::min(kPairRows, piece.rows - row),
                .columns = digits.columns,
                .out = p.out,
                .first_row = piece.first_row + row,
                .first_column = first,
                .add = p.add || piece.first_step > 0});
            }});
}

void multiply_piece(const Product& p, const Piece& piece) {
  std::uint8_t* A = scratch.A.room(std::size_t(p.most_rows() * p.slab_steps() * kTileInputs));
  share_range(piece.row_tiles(), piece.steps * kTileBytes / 8, 1,
              [&](std::int64_t first, std::int64_t count) {
                for (std::int64_t t = first; t < first + count; ++t) {
                  std::uint8_t* to = A + (t / 2 * piece.steps * 2 + t % 2) * kTileBytes;
                  for (std::int64_t s = 0; s < piece.steps; ++s, to += 2 * kTileBytes) {
                    Words words;
                    p.read(piece.first_row + t * kTileRows, piece.first_step + s, words);
                    HWY_DYNAMIC_DISPATCH(expand_tile)(words, to);
                  }
                }
              });
  share(parts_of(p.out.cols, kPairColumns),
        [&](std::int64_t block) { multiply_columns(p, piece, A, block); });
}

// units[i]: bit j is unit i of selected row first + j.
void transpose_rows(ConstBits z, RowSet rows, std::int64_t first, std::uint64_t* units) {
  const std::int64_t count = std::min(rows.count - first, kTileInputs);
  for (std::int64_t word = 0; word < words_per_row(z.cols); ++word) {
    std::uint64_t block[64] = {};
    for (std::int64_t r = 0; r < count; ++r) block[r] = row_words(z, rows.source(first + r))[word];
    transpose_bits(block);
    std::copy_n(block, 64, units + 64 * word);
  }
}

// Pieces as even as can be. The digits of W are made anew for each, which costs as much as some
// hundred rows; they would be as large as W if they were kept.
void multiply(const Product& p) {
  const std::int64_t steps = parts_of(p.inputs, kTileInputs),
                     slabs = parts_of(steps, p.slab_steps());
  const std::int64_t units = parts_of(p.rows, kRowUnit), blocks = parts_of(p.rows, p.most_rows());
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t first = units * block / blocks * kRowUnit;
    const std::int64_t end = std::min(p.rows, units * (block + 1) / blocks * kRowUnit);
    for (std::int64_t slab = 0; slab < slabs; ++slab) {
      const std::int64_t first_step = steps * slab / slabs;
      multiply_piece(p, {first, end - first, first_step, steps * (slab + 1) / slabs - first_step});
    }
  }
}

}  // namespace

void tile_product(TileKernel kernel, ConstBits z, ConstMatrix W, Matrix out, Write write) {
  const bool add = write == Write::add;
  if (z.cols == 0) {
    if (!add) std::fill_n(out.data, out.size(), 0.0f);
    return;
  }
  const auto read = [&](std::int64_t row, std::int64_t step, Words& words) {
    for (std::int64_t r = 0; r < kTileRows; ++r)
      words[r] = row + r < z.rows ? row_words(z, row + r)[step] : 0;
  };
  multiply({kernel, z.rows, z.cols, z.cols, read, W.data, out, add});
}

void tile_outer_product(TileKernel kernel, ConstBits z, RowSet rows, ConstMatrix g, Matrix gW) {
  if (g.rows == 0 || z.cols == 0) return;
  // [steps, units]: a unit's bits in 64 of the rows
  const std::int64_t units = parts_of(z.cols, kRowUnit) * kRowUnit;
  std::uint64_t* transposed =
      scratch.transposed.room(std::size_t(parts_of(z.rows, kTileInputs) * units));
  share_range(parts_of(g.rows, kTileInputs), kTransposeWork * units, 1,
              [&](std::int64_t first, std::int64_t count) {
                for (std::int64_t step = first; step < first + count; ++step)
                  transpose_rows(z, rows, step * kTileInputs, transposed + step * units);
              });
  const auto read = [&](std::int64_t unit, std::int64_t step, Words& words) {
    std::copy_n(transposed + step * units + unit, kTileRows, words);
  };
  multiply({kernel, z.cols, g.rows, z.rows, read, g.data, gW, true});
}

}  // namespace sfnn
#endif  // HWY_ONCE
