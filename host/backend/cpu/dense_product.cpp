#include "host/backend/cpu/dense_product.hpp"

#include <algorithm>
#include <type_traits>

#include "host/backend/cpu/growing_buffer.hpp"
#include "host/backend/cpu/simd.hpp"
#include "host/backend/team.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "host/backend/cpu/dense_product.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once per instruction set.
#include "hwy/cache_control.h"
#include "hwy/highway.h"

#ifndef SFNN_HOST_BACKEND_CPU_DENSE_PRODUCT_ONCE
#define SFNN_HOST_BACKEND_CPU_DENSE_PRODUCT_ONCE
namespace sfnn::dense {

constexpr std::int64_t kDepth = 400;     // terms packed at a time: a panel of B has 75 KB
constexpr std::int64_t kRowBlock = 96;   // rows of A packed at a time: 150 KB
constexpr std::int64_t kMaxPanels = 24;  // of B, packed at a time: 1.8 MB
constexpr std::int64_t kDirectRows = 64, kDirectTerms = 64;  // do not pay for packing

// A factor as its lines see it, the rows of A or the columns of B: the terms of line i lie at
// data + i * line_stride + k * term_stride. One of the strides is 1.
struct Lines {
  const float* data;
  std::int64_t line_stride, term_stride;

  const float* at(std::int64_t i, std::int64_t k) const {
    return data + i * line_stride + k * term_stride;
  }
  Lines from(std::int64_t i, std::int64_t k) const { return {at(i, k), line_stride, term_stride}; }
};

// out[rows, cols] = A B, or is added to
struct DenseArgs {
  Lines A, B;
  std::int64_t terms;
  Matrix out;
  Write write;
};

namespace {

struct Scratch {
  GrowingBuffer<float> A;  // strips of a block of rows
  GrowingBuffer<float> B;  // panels, for the whole team
};
thread_local Scratch scratch;

}  // namespace

}  // namespace sfnn::dense
#endif

HWY_BEFORE_NAMESPACE();
namespace sfnn::dense {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kLanes = hn::MaxLanes(hn::CappedTag<float, 16>());
// A whole vector, or half of one for the last columns.
template <std::int64_t kWidth>
using Vector = hn::CappedTag<float, kWidth>;
// A tile of the product is kStrip rows by kVectors vectors. With the vectors of B and a term of A
// it fills the registers: 32 of AVX-512 and NEON, else 16.
constexpr bool kManyRegisters = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON;
constexpr std::int64_t kStrip = kManyRegisters ? 8 : 4, kVectors = 3;
constexpr std::int64_t kPanel = kVectors * kLanes;

// to[k, i] = line i, term k, kWidth lines; those beyond `lines` are zero.
template <std::int64_t kWidth>
void pack_edge(const Lines& from, std::int64_t lines, std::int64_t terms, float* to) {
  for (std::int64_t k = 0; k < terms; ++k, to += kWidth) {
    for (std::int64_t i = 0; i < lines; ++i) to[i] = *from.at(i, k);
    std::fill(to + lines, to + kWidth, 0.0f);
  }
}

template <std::int64_t kWidth>
void pack_in_order(const Lines& from, std::int64_t terms, float* to) {
  const hn::CappedTag<float, kWidth % kLanes == 0 ? kLanes : kWidth> d;
  for (std::int64_t k = 0; k < terms; ++k)
    for (std::int64_t i = 0; i < kWidth; i += hn::MaxLanes(d))
      hn::StoreU(hn::LoadU(d, from.at(i, k)), d, to + k * kWidth + i);
}

#if HWY_TARGET != HWY_SCALAR
// Four lines by four terms.
HWY_INLINE void transpose_four(const Lines& from, float* to, std::int64_t stride) {
  const hn::CappedTag<float, 4> d;
  const auto a = hn::LoadU(d, from.at(0, 0)), b = hn::LoadU(d, from.at(1, 0));
  const auto c = hn::LoadU(d, from.at(2, 0)), e = hn::LoadU(d, from.at(3, 0));
  const auto ab = hn::InterleaveLower(d, a, b), ce = hn::InterleaveLower(d, c, e);
  const auto AB = hn::InterleaveUpper(d, a, b), CE = hn::InterleaveUpper(d, c, e);
  hn::StoreU(hn::ConcatLowerLower(d, ce, ab), d, to);
  hn::StoreU(hn::ConcatUpperUpper(d, ce, ab), d, to + stride);
  hn::StoreU(hn::ConcatLowerLower(d, CE, AB), d, to + 2 * stride);
  hn::StoreU(hn::ConcatUpperUpper(d, CE, AB), d, to + 3 * stride);
}

// Sixteen terms of four lines at a time: a cache line each, read once.
template <std::int64_t kWidth>
void pack_transposed(const Lines& from, std::int64_t terms, float* to) {
  constexpr std::int64_t kTerms = 16;
  const std::int64_t whole = terms / 4 * 4;
  for (std::int64_t first = 0; first < whole; first += kTerms)
    for (std::int64_t i = 0; i < kWidth; i += 4)
      for (std::int64_t k = first; k < std::min(first + kTerms, whole); k += 4)
        transpose_four(from.from(i, k), to + k * kWidth + i, kWidth);
  for (std::int64_t k = whole; k < terms; ++k)
    for (std::int64_t i = 0; i < kWidth; ++i) to[k * kWidth + i] = *from.at(i, k);
}
#else
template <std::int64_t kWidth>
void pack_transposed(const Lines& from, std::int64_t terms, float* to) {
  pack_edge<kWidth>(from, kWidth, terms, to);
}
#endif

template <std::int64_t kWidth>
void pack(const Lines& from, std::int64_t lines, std::int64_t terms, float* to) {
  if (lines < kWidth || kWidth % 4 != 0) {
    pack_edge<kWidth>(from, lines, terms, to);
  } else if (from.line_stride == 1) {
    pack_in_order<kWidth>(from, terms, to);
  } else {
    pack_transposed<kWidth>(from, terms, to);
  }
}

// One factor's share of a tile, term by term: as packed, or where it lies.
struct Terms {
  const float* data;
  std::int64_t stride;
};

struct Tile {
  float* data;
  std::int64_t stride;
  bool add;
};

// kRows rows by kWide vectors of kWidth columns; at least one term. If kAdd, its sums begin with
// what is there, so that blocks of terms make one sum.
template <bool kAdd, std::int64_t kRows, std::int64_t kWide, std::int64_t kWidth>
void multiply_tile(Terms A, Terms B, std::int64_t terms, float* out, std::int64_t stride) {
  const Vector<kWidth> d;
  hn::Vec<Vector<kWidth>> sum[kRows][kWide], b[kWide];
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t v = 0; v < kWide; ++v) {
      sum[i][v] = kAdd ? hn::LoadU(d, out + i * stride + v * kWidth) : hn::Zero(d);
      hwy::Prefetch(out + (kRows + i) * stride + v * kWidth);  // the next tile
    }
  }
  do {
    for (std::int64_t v = 0; v < kWide; ++v) b[v] = hn::LoadU(d, B.data + v * kWidth);
    for (std::int64_t i = 0; i < kRows; ++i) {
      const auto a = hn::Set(d, A.data[i]);
      for (std::int64_t v = 0; v < kWide; ++v) sum[i][v] = hn::MulAdd(a, b[v], sum[i][v]);
    }
    A.data += A.stride;
    B.data += B.stride;
  } while (--terms > 0);
  for (std::int64_t i = 0; i < kRows; ++i)
    for (std::int64_t v = 0; v < kWide; ++v)
      hn::StoreU(sum[i][v], d, out + i * stride + v * kWidth);
}

// A tile of which not all rows or columns are there, by way of a whole one.
template <bool kAdd, std::int64_t kRows, std::int64_t kWide, std::int64_t kWidth>
void multiply_edge(Terms A, Terms B, std::int64_t terms, std::int64_t rows, std::int64_t cols,
                   float* out, std::int64_t stride) {
  constexpr std::int64_t kCols = kWide * kWidth;
  HWY_ALIGN float whole[kRows * kCols] = {};
  if (kAdd)
    for (std::int64_t i = 0; i < rows; ++i) std::copy_n(out + i * stride, cols, whole + i * kCols);
  multiply_tile<kAdd, kRows, kWide, kWidth>(A, B, terms, whole, kCols);
  for (std::int64_t i = 0; i < rows; ++i) std::copy_n(whole + i * kCols, cols, out + i * stride);
}

template <bool kAdd, std::int64_t kRows, std::int64_t kWide, std::int64_t kWidth>
void multiply_any(Terms A, Terms B, std::int64_t terms, std::int64_t rows, std::int64_t cols,
                  float* out, std::int64_t stride) {
  if constexpr (kRows > 1)
    if (rows <= kRows / 2)
      return multiply_any<kAdd, kRows / 2, kWide, kWidth>(A, B, terms, rows, cols, out, stride);
  if (rows == kRows && cols == kWide * kWidth)
    return multiply_tile<kAdd, kRows, kWide, kWidth>(A, B, terms, out, stride);
  multiply_edge<kAdd, kRows, kWide, kWidth>(A, B, terms, rows, cols, out, stride);
}

// Terms [first_term, + terms) of columns [first_col, + cols), and where they are packed.
struct Block {
  std::int64_t first_term, terms, first_col, cols;
  float* B;

  std::int64_t panels() const { return (cols + kPanel - 1) / kPanel; }
  float* panel(std::int64_t number) const { return B + number * kPanel * terms; }
  std::int64_t panel_cols(std::int64_t number) const {
    return std::min(kPanel, cols - number * kPanel);
  }
};

// fn with the number and the width of the vectors that hold `cols` columns of a panel, as
// constants.
template <class F>
HWY_INLINE void with_vectors(std::int64_t cols, const F& fn) {
  static_assert(kVectors == 3);
  using std::integral_constant;
  const integral_constant<std::int64_t, kLanes> whole;
  if (cols > 2 * kLanes) return fn(integral_constant<std::int64_t, 3>(), whole);
  if (cols > kLanes) return fn(integral_constant<std::int64_t, 2>(), whole);
  if (cols > kLanes / 2) return fn(integral_constant<std::int64_t, 1>(), whole);
  fn(integral_constant<std::int64_t, 1>(), integral_constant<std::int64_t, (kLanes + 1) / 2>());
}

// Few rows do not pay for packing B: they read whole panels where they lie.
HWY_INLINE bool reads_B_in_place(const DenseArgs& p, std::int64_t cols) {
  return p.out.rows <= kDirectRows && p.B.line_stride == 1 && cols == kPanel;
}
// Nor do few terms for packing A.
HWY_INLINE bool reads_A_in_place(const DenseArgs& p, std::int64_t rows) {
  return p.terms <= kDirectTerms && p.A.line_stride == 1 && rows == kStrip;
}

HWY_NOINLINE void pack_panel(const DenseArgs& p, const Block& block, std::int64_t number) {
  const std::int64_t cols = block.panel_cols(number);
  if (reads_B_in_place(p, cols)) return;
  const Lines from = p.B.from(block.first_col + number * kPanel, block.first_term);
  with_vectors(cols, [&](auto wide, auto width) HWY_ATTR {
    pack<wide * width>(from, cols, block.terms, block.panel(number));
  });
}

// Rows [first, + rows) of the block's columns.
HWY_NOINLINE void multiply_rows(const DenseArgs& p, const Block& block, std::int64_t first,
                                std::int64_t rows) {
  float* packed = scratch.A.room(std::size_t(kRowBlock * kDepth));
  for (std::int64_t i = 0; i < rows; i += kStrip) {
    const std::int64_t valid = std::min(kStrip, rows - i);
    if (reads_A_in_place(p, valid)) continue;
    pack<kStrip>(p.A.from(first + i, block.first_term), valid, block.terms,
                 packed + i * block.terms);
  }
  const bool add = p.write == Write::add || block.first_term > 0;
  for (std::int64_t number = 0; number < block.panels(); ++number) {
    const std::int64_t cols = block.panel_cols(number), col = block.first_col + number * kPanel;
    with_vectors(cols, [&](auto wide, auto width) HWY_ATTR {
      const Terms B = reads_B_in_place(p, cols)
                          ? Terms{p.B.at(col, block.first_term), p.B.term_stride}
                          : Terms{block.panel(number), wide * width};
      for (std::int64_t i = 0; i < rows; i += kStrip) {
        const std::int64_t valid = std::min(kStrip, rows - i);
        const Terms A = reads_A_in_place(p, valid)
                            ? Terms{p.A.at(first + i, block.first_term), p.A.term_stride}
                            : Terms{packed + i * block.terms, kStrip};
        const auto multiply = add ? multiply_any<true, kStrip, wide, width>
                                  : multiply_any<false, kStrip, wide, width>;
        multiply(A, B, block.terms, valid, cols, p.out.row(first + i) + col, p.out.cols);
      }
    });
  }
}

void product(const DenseArgs& p) {
  constexpr std::int64_t kCols = kMaxPanels * kPanel;
  float* B = scratch.B.room(std::size_t(kCols * kDepth));
  const std::int64_t depths = (p.terms + kDepth - 1) / kDepth;
  const std::int64_t row_blocks = (p.out.rows + kRowBlock - 1) / kRowBlock;
  for (std::int64_t first_col = 0; first_col < p.out.cols; first_col += kCols) {
    for (std::int64_t depth = 0; depth < depths; ++depth) {
      const std::int64_t first_term = p.terms * depth / depths;
      const Block block{first_term, p.terms * (depth + 1) / depths - first_term, first_col,
                        std::min(kCols, p.out.cols - first_col), B};
      share(block.panels(), [&](std::int64_t number) { pack_panel(p, block, number); });
      share(row_blocks, [&](std::int64_t number) {
        const std::int64_t first = number * kRowBlock;
        multiply_rows(p, block, first, std::min(kRowBlock, p.out.rows - first));
      });
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sfnn::dense
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sfnn::dense {
namespace {

HWY_EXPORT(product);

void any_product(const DenseArgs& p) {
  if (p.out.size() == 0) return;
  if (p.terms > 0) return HWY_DYNAMIC_DISPATCH(product)(p);
  if (p.write == Write::set) std::fill_n(p.out.data, p.out.size(), 0.0f);
}

}  // namespace

void multiply(ConstMatrix A, ConstMatrix B, Matrix out, Write write) {
  any_product({{A.data, A.cols, 1}, {B.data, 1, B.cols}, A.cols, out, write});
}

void multiply_transposed(ConstMatrix A, ConstMatrix B, Matrix out, Write write) {
  any_product({{A.data, A.cols, 1}, {B.data, B.cols, 1}, A.cols, out, write});
}

void accumulate_outer(ConstMatrix A, ConstMatrix B, Matrix out) {
  any_product({{A.data, 1, A.cols}, {B.data, 1, B.cols}, A.rows, out, Write::add});
}

}  // namespace sfnn::dense
#endif  // HWY_ONCE
