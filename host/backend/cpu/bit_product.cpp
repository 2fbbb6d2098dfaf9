#include "host/backend/cpu/bit_product.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <type_traits>

#include "host/backend/cpu/growing_buffer.hpp"
#include "host/backend/cpu/packed_bits.hpp"
#include "host/backend/cpu/simd.hpp"
#include "host/backend/team.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "host/backend/cpu/bit_product.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once per instruction set.
#include "hwy/cache_control.h"
#include "hwy/highway.h"

#ifndef SFNN_HOST_BACKEND_CPU_BIT_PRODUCT_ONCE
#define SFNN_HOST_BACKEND_CPU_BIT_PRODUCT_ONCE
namespace sfnn {

constexpr std::int64_t kGroup = 5;  // inputs that share a table
constexpr std::int64_t kEntries = 1 << kGroup;
constexpr std::int64_t kColumns = 16;    // per block: a table entry is one cache line
constexpr std::int64_t kMaxGroups = 11;  // tables held at a time: 22 KB; a word has room for 11
constexpr std::int64_t kRowBlock = 768;  // running sums held at a time: 48 KB, read in order
constexpr std::int64_t kWordWork = 4;    // steps that a word takes until it is in its place
constexpr int kEntryShift = 6;           // log2 of an entry's bytes
static_assert(kColumns * sizeof(float) == 1 << kEntryShift);
static_assert(kMaxGroups * kGroup + kEntryShift <= 64);

// The K inputs cut into chunks of at most kMaxGroups groups, as even as can be.
struct Chunks {
  explicit Chunks(std::int64_t K)
      : groups((K + kGroup - 1) / kGroup), count((groups + kMaxGroups - 1) / kMaxGroups) {}

  std::int64_t first_group(std::int64_t chunk) const { return groups * chunk / count; }
  std::int64_t first_input(std::int64_t chunk) const { return first_group(chunk) * kGroup; }
  std::int64_t group_count(std::int64_t chunk) const {
    return first_group(chunk + 1) - first_group(chunk);
  }

  std::int64_t groups, count;
};

struct BitProductScratch {
  // [chunks, rows] the bits of a row's chunk, from bit kEntryShift on
  GrowingBuffer<std::uint64_t> words;
  GrowingBuffer<float> sums;  // [rows, kColumns] of a block of columns
  GrowingBuffer<float> edge;  // [K + rows, kColumns] the last columns of W and of out, padded
};

// out[rows, H] (+)= bits * W[K, H]
struct BitProductArgs {
  const std::uint64_t* words;  // [chunks, rows]
  std::int64_t rows, K, H;
  const float* W;
  float* out;
  bool add;
  std::int64_t K_room;        // K of other steps at most
  bool half_vectors = false;  // in vectors of half a cache line, even if there are wider ones
  std::int64_t column_blocks() const { return (H + kColumns - 1) / kColumns; }
};

namespace {

thread_local BitProductScratch scratch;  // each thread that does a block of columns has its own

}  // namespace

}  // namespace sfnn
#endif

HWY_BEFORE_NAMESPACE();
namespace sfnn {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The product in vectors of at most kMaxLanes floats: every width gives the same bits.
template <std::int64_t kMaxLanes>
class Columns {
  using D = hn::CappedTag<float, kMaxLanes>;
  using V = hn::Vec<D>;
  static constexpr std::int64_t kLanes = hn::MaxLanes(D());
  static constexpr std::int64_t kBlockVectors = kColumns / kLanes;

 public:
  // Sums of all subsets of five rows of W, kVectors vectors wide.
  template <std::int64_t kVectors>
  static HWY_INLINE void fill_table(const float* W, std::int64_t stride, float* table) {
    const D d;
    for (std::int64_t v = 0; v < kVectors; ++v) {
      const float* w = W + v * kLanes;
      const V w0 = hn::LoadU(d, w), w1 = hn::LoadU(d, w + stride),
              w2 = hn::LoadU(d, w + 2 * stride);
      const V w3 = hn::LoadU(d, w + 3 * stride), w4 = hn::LoadU(d, w + 4 * stride);
      const V w01 = hn::Add(w0, w1);
      const V low[8] = {hn::Zero(d),     w0, w1, w01, w2, hn::Add(w0, w2), hn::Add(w1, w2),
                        hn::Add(w01, w2)};
      // Stored as they come: kept, they would not fit into the registers.
      float* to = table + v * kLanes;
      for (int i = 0; i < 8; ++i) hn::Store(low[i], d, to + i * kColumns);
      for (int i = 0; i < 8; ++i) hn::Store(hn::Add(low[i], w3), d, to + (8 + i) * kColumns);
      for (int i = 0; i < 8; ++i) hn::Store(hn::Add(low[i], w4), d, to + (16 + i) * kColumns);
      const V w34 = hn::Add(w3, w4);
      for (int i = 0; i < 8; ++i) hn::Store(hn::Add(low[i], w34), d, to + (24 + i) * kColumns);
    }
  }

  // The last group, if it has fewer than five rows: absent ones count as zero, so that bits
  // beyond the last input do not matter.
  template <std::int64_t kVectors>
  static HWY_NOINLINE void fill_last_table(const float* W, std::int64_t stride, std::int64_t valid,
                                           float* table) {
    HWY_ALIGN float rows[kGroup * kColumns] = {};
    for (std::int64_t i = 0; i < valid; ++i)
      std::copy_n(W + i * stride, kVectors * kLanes, rows + i * kColumns);
    fill_table<kVectors>(rows, kColumns, table);
  }

  // out[r] = in[r] (or 0) + the table entries that the words of kRows rows name.
  template <int kRows, std::int64_t kVectors>
  static HWY_INLINE void add_entries(const std::uint64_t* words, const float* tables,
                                     std::int64_t groups, const float* in, std::int64_t in_stride,
                                     float* out, std::int64_t out_stride) {
    constexpr std::uint64_t kMask = std::uint64_t(kEntries - 1) << kEntryShift;
    const D d;
    std::uint64_t word[kRows];
    V sum[kRows][kVectors];
    for (int i = 0; i < kRows; ++i) {
      word[i] = words[i];
      for (std::int64_t v = 0; v < kVectors; ++v)
        sum[i][v] = in ? hn::LoadU(d, in + i * in_stride + v * kLanes) : hn::Zero(d);
    }
    // A word's mask gives the entry's offset in bytes at once.
    const char* table = reinterpret_cast<const char*>(tables);
    const char* const end = table + groups * kEntries * kColumns * std::int64_t(sizeof(float));
    for (; table != end; table += kEntries * kColumns * sizeof(float)) {
      for (int i = 0; i < kRows; ++i) {
        const float* entry = reinterpret_cast<const float*>(table + (word[i] & kMask));
        word[i] >>= kGroup;
        for (std::int64_t v = 0; v < kVectors; ++v)
          sum[i][v] = hn::Add(sum[i][v], hn::Load(d, entry + v * kLanes));
      }
    }
    for (int i = 0; i < kRows; ++i)
      for (std::int64_t v = 0; v < kVectors; ++v)
        hn::StoreU(sum[i][v], d, out + i * out_stride + v * kLanes);
  }

  // One block of kVectors vectors of columns.
  template <std::int64_t kVectors>
  static HWY_NOINLINE void column_block(const BitProductArgs& p, const float* W,
                                        std::int64_t W_stride, const float* start,
                                        std::int64_t start_stride, float* out,
                                        std::int64_t out_stride) {
    constexpr int kRows = kVectors == 1 ? 8 : kVectors == 2 ? 4 : 2;  // >= 8 chains hide latency
    HWY_ALIGN float tables[kMaxGroups * kEntries * kColumns];
    float* sums = scratch.sums.room(std::size_t(p.rows * kColumns));
    const Chunks chunks(p.K);
    for (std::int64_t k = 0; k < chunks.count; ++k) {
      const std::int64_t first = chunks.first_input(k), groups = chunks.group_count(k);
      // The next chunk's rows lie a page apart each, where no hardware looks ahead.
      const std::int64_t next = first + groups * kGroup;
      for (std::int64_t i = next; i < std::min(p.K, next + kMaxGroups * kGroup); ++i)
        hwy::Prefetch(W + i * W_stride);
      for (std::int64_t g = 0; g < groups; ++g) {
        const std::int64_t input = first + g * kGroup;
        float* table = tables + g * kEntries * kColumns;
        if (input + kGroup <= p.K) {
          fill_table<kVectors>(W + input * W_stride, W_stride, table);
        } else {
          fill_last_table<kVectors>(W + input * W_stride, W_stride, p.K - input, table);
        }
      }
      // Running sums lie densely in scratch; the last chunk sends them to their place.
      const bool last = k == chunks.count - 1;
      const float* from = k == 0 ? start : sums;
      const std::int64_t from_stride = k == 0 ? start_stride : kColumns;
      float* to = last ? out : sums;
      const std::int64_t to_stride = last ? out_stride : kColumns;
      const std::uint64_t* words = p.words + k * p.rows;
      const auto step = [&](auto rows, std::int64_t r) HWY_ATTR {
        add_entries<decltype(rows)::value, kVectors>(words + r, tables, groups,
                                                     from ? from + r * from_stride : nullptr,
                                                     from_stride, to + r * to_stride, to_stride);
      };
      std::int64_t r = 0;
      for (; r + kRows <= p.rows; r += kRows) step(std::integral_constant<int, kRows>(), r);
      for (; r < p.rows; ++r) step(std::integral_constant<int, 1>(), r);
    }
  }

  // The last H % kColumns columns, on padded copies.
  static void edge_block(const BitProductArgs& p, std::int64_t first) {
    const std::int64_t width = p.H - first;
    float* W = scratch.edge.room(std::size_t((p.K_room + p.rows) * kColumns));
    float* out = W + p.K * kColumns;
    std::fill_n(W, (p.K + p.rows) * kColumns, 0.0f);
    for (std::int64_t k = 0; k < p.K; ++k)
      std::copy_n(p.W + k * p.H + first, width, W + k * kColumns);
    if (p.add)
      for (std::int64_t r = 0; r < p.rows; ++r)
        std::copy_n(p.out + r * p.H + first, width, out + r * kColumns);
    const auto block = width <= kLanes ? column_block<1> : column_block<kBlockVectors>;
    block(p, W, kColumns, p.add ? out : nullptr, kColumns, out, kColumns);
    for (std::int64_t r = 0; r < p.rows; ++r)
      std::copy_n(out + r * kColumns, width, p.out + r * p.H + first);
  }

  // Columns kColumns * block and on, kColumns of them if there are as many.
  static void product_block(const BitProductArgs& p, std::int64_t block) {
    const auto blocks = [&](auto vectors, std::int64_t c, std::int64_t end) HWY_ATTR {
      constexpr std::int64_t kWidth = decltype(vectors)::value * kLanes;
      for (; c + kWidth <= end; c += kWidth)
        column_block<decltype(vectors)::value>(p, p.W + c, p.H, p.add ? p.out + c : nullptr, p.H,
                                               p.out + c, p.H);
    };
    const std::int64_t first = kColumns * block, end = std::min(p.H, first + kColumns);
    if (end - first == kColumns) {
      blocks(std::integral_constant<std::int64_t, kBlockVectors>(), first, end);
    } else if ((end - first) % kLanes == 0) {
      blocks(std::integral_constant<std::int64_t, 1>(), first, end);
    } else {
      edge_block(p, first);
    }
  }
};

void product_block(const BitProductArgs& p, std::int64_t block) {
  if constexpr (hn::MaxLanes(hn::CappedTag<float, kColumns>()) > kColumns / 2)
    if (p.half_vectors) return Columns<kColumns / 2>::product_block(p, block);
  Columns<kColumns>::product_block(p, block);
}

void transpose_words(std::uint64_t (&a)[64]) {
  std::uint64_t mask = 0x00000000FFFFFFFFu;
  for (int j = 32; j != 0; j >>= 1, mask ^= mask << j)
    for (int k = 0; k < 64; k += 2 * j)
      for (int i = k; i < k + j; ++i) {
        const std::uint64_t t = (a[i] >> j ^ a[i + j]) & mask;
        a[i] ^= t << j;
        a[i + j] ^= t;
      }
}

}  // namespace HWY_NAMESPACE
}  // namespace sfnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sfnn {
namespace {

HWY_EXPORT(product_block);
HWY_EXPORT(transpose_words);

// Zen 4 moves half a cache line at a time: there look-up products in vectors of half a line take 8
// % less time than in AVX-512's whole ones.
bool moves_half_lines() {
#if defined(__x86_64__)
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!__get_cpuid(0, &eax, &ebx, &ecx, &edx) || ebx != signature_AMD_ebx) return false;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx)) return false;
  constexpr unsigned kZen3And4 = 0x19;
  return (eax >> 8 & 0xF) + (eax >> 20 & 0xFF) == kZen3And4;
#else
  return false;
#endif
}

// By blocks of columns: a table is filled once, whoever does it.
void product(BitProductArgs p) {
  static const bool half_vectors = moves_half_lines();
  p.half_vectors = half_vectors;
  share(p.column_blocks(), [&](std::int64_t block) {
    HWY_DYNAMIC_DISPATCH(product_block)(p, block);
  });
}

// words[k, i]: the bits of chunk k of the selected rows in column i, from bit kEntryShift on.
void transpose_chunk(ConstBits z, RowSet rows, const Chunks& chunks, std::int64_t k,
                     std::uint64_t* words) {
  const std::int64_t first = chunks.first_input(k);
  const std::int64_t end = std::min(rows.count, first + chunks.group_count(k) * kGroup);
  for (std::int64_t i = 0; i < z.cols; i += 64) {
    std::uint64_t block[64] = {};
    for (std::int64_t r = first; r < end; ++r)
      block[kEntryShift + r - first] = row_words(z, rows.source(r))[i / 64];
    transpose_bits(block);
    std::copy_n(block, std::min<std::int64_t>(64, z.cols - i), words + k * z.cols + i);
  }
}

}  // namespace

void transpose_bits(std::uint64_t (&words)[64]) { HWY_DYNAMIC_DISPATCH(transpose_words)(words); }

void bit_product(ConstBits z, ConstMatrix W, Matrix out, Write write) {
  const bool add = write == Write::add;
  if (z.cols == 0) {
    if (!add) std::fill_n(out.data, out.size(), 0.0f);
    return;
  }
  const Chunks chunks(z.cols);
  const std::int64_t row_width = words_per_row(z.cols);
  const std::int64_t blocks = (z.rows + kRowBlock - 1) / kRowBlock;
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t first = z.rows * block / blocks;
    const std::int64_t rows = z.rows * (block + 1) / blocks - first;
    std::uint64_t* words = scratch.words.room(std::size_t(chunks.count * rows));
    share_range(rows, kWordWork * chunks.count, 1, [&](std::int64_t from, std::int64_t count) {
      for (std::int64_t r = from; r < from + count; ++r)
        for (std::int64_t k = 0; k < chunks.count; ++k)
          words[k * rows + r] = bits_from(row_words(z, first + r), row_width, chunks.first_input(k))
                                << kEntryShift;
    });
    product({words, rows, z.cols, W.cols, W.data, out.row(first), add, z.cols});
  }
}

void bit_outer_product(ConstBits z, RowSet rows, ConstMatrix g, Matrix gW) {
  const std::int64_t count = g.rows, K = z.cols;
  if (count == 0 || K == 0) return;
  const Chunks chunks(count);
  // Room for all rows: how many are selected changes from step to step.
  std::uint64_t* words = scratch.words.room(std::size_t(Chunks(z.rows).count * K));
  share_range(chunks.count, kWordWork * K, 1, [&](std::int64_t from, std::int64_t n) {
    for (std::int64_t k = from; k < from + n; ++k) transpose_chunk(z, rows, chunks, k, words);
  });
  product({words, K, count, gW.cols, g.data, gW.data, true, z.rows});
}

}  // namespace sfnn
#endif  // HWY_ONCE
