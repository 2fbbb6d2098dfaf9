// Eq. (1): bias, sigmoid, draw, compare and pack in one loop, 256 units at a time.
#include "host/backend/cpu/sample.hpp"

#include <algorithm>

#include "host/backend/cpu/packed_bits.hpp"
#include "host/backend/cpu/simd.hpp"
#include "host/backend/team.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "host/backend/cpu/sample.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once per instruction set.
#include "host/backend/cpu/philox-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace sfnn {
namespace HWY_NAMESPACE {

// u <= sigma(a + b) is u * q <= 1 with q = 1 + exp(-(a + b)), which spares the division.
void inverse_probabilities(const float* a, const float* b, std::int64_t count, float* q) {
  const VF one = hn::Set(F32(), 1.0f);
  for_vectors(count, [&](auto lanes, std::int64_t i) HWY_ATTR {
    const VF minus = hn::Neg(hn::Add(lanes.load(a + i), lanes.load(b + i)));
    hn::Store(hn::Add(one, exp_of(minus)), F32(), q + i);
  });
}

// Units first .. first + count of one row; q as above.
void draw_bits(const Words& draws, std::uint32_t example, std::uint32_t particle,
               std::int64_t first, std::int64_t count, const float* q, std::uint64_t* row) {
  HWY_ALIGN std::uint32_t words[kDrawChunk];
  draws.fill(example, particle, first, count, words);
  const VF one = hn::Set(F32(), 1.0f);
  for (std::int64_t w = 0; w < words_per_row(count); ++w) {
    std::uint64_t bits = 0;
    const std::int64_t units = std::min<std::int64_t>(64, count - 64 * w);
    for (std::int64_t i = 0; i < units; i += kFloatLanes) {
      const VF u = uniform_of(words + 64 * w + i);
      const auto fires = hn::Le(hn::Mul(u, hn::Load(F32(), q + 64 * w + i)), one);
      bits |= bits_of(fires) << i;
    }
    row[first / 64 + w] = units == 64 ? bits : bits & ((std::uint64_t(1) << units) - 1);
  }
}

// Rows first_row .. first_row + rows.
void sample_rows(const SampleHiddenArgs& p, const DrawKey& key, std::int64_t first_row,
                 std::int64_t rows) {
  const auto& [draw, tile, a, b, s] = p;
  const bool shared = a.rows == tile.N;
  const Words draws(key);
  HWY_ALIGN float q[kDrawChunk];
  std::fill_n(q, kDrawChunk, 2.0f);  // p = 1/2 if there is no a
  const std::int64_t end = first_row + rows;
  for (std::int64_t n = first_row / tile.M; n * tile.M < end; ++n) {
    const std::int64_t first_m = std::max<std::int64_t>(0, first_row - n * tile.M);
    const std::int64_t end_m = std::min(tile.M, end - n * tile.M);
    for (std::int64_t first = 0; first < s.cols; first += kDrawChunk) {
      const std::int64_t count = std::min(kDrawChunk, s.cols - first);
      for (std::int64_t m = first_m; m < end_m; ++m) {
        const std::int64_t r = n * tile.M + m;
        if (a.data && (!shared || m == first_m))
          inverse_probabilities(a.row(shared ? n : r) + first, b + first, count, q);
        draw_bits(draws, std::uint32_t(draw.example(tile.first + n)),
                  std::uint32_t(tile.first_particle + m), first, count, q, row_words(s, r));
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sfnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sfnn {
HWY_EXPORT(sample_rows);

void cpu::sample_hidden(const SampleHiddenArgs& p, const DrawKey& key) {
  share_range(p.s.rows, p.s.cols, 1, [&](std::int64_t first, std::int64_t count) {
    HWY_DYNAMIC_DISPATCH(sample_rows)(p, key, first, count);
  });
}

}  // namespace sfnn
#endif  // HWY_ONCE
