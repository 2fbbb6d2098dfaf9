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

// u <= sigma(a + b) is u * q <= 1 with q = 1 + exp(-(a + b)), which spares the division. e, and its
// bias with it, is null for a particle of P, a, and b with it, for units of p = 1/2.
void inverse_probabilities(const float* a, const float* b, const float* e, const float* bias,
                           std::int64_t count, float* q) {
  const VF one = hn::Set(F32(), 1.0f);
  for_vectors(count, [&](auto lanes, std::int64_t i) HWY_ATTR {
    VF logit = a ? hn::Add(lanes.load(a + i), lanes.load(b + i)) : hn::Zero(F32());
    if (e) logit = hn::Add(logit, hn::Add(lanes.load(e + i), lanes.load(bias + i)));
    hn::Store(hn::Add(one, exp_of(hn::Neg(logit))), F32(), q + i);
  });
}

// `units` bits of a row, from its bit `first` on, a multiple of 64; the last word's other bits are
// zero. fires(lanes, i) is the mask of a vector of them.
template <class Fires>
HWY_INLINE void store_bits(std::int64_t first, std::int64_t units, const Fires& fires,
                           std::uint64_t* row) {
  if (units % 64 != 0) row[(first + units) / 64] = 0;
  if constexpr (kFloatLanes >= 8) {  // a vector's bits are whole bytes
    auto* bytes = reinterpret_cast<std::uint8_t*>(row) + first / 8;
    for_vectors(units, [&](auto lanes, std::int64_t i)
                           HWY_ATTR { hn::StoreMaskBits(F32(), fires(lanes, i), bytes + i / 8); });
  } else {
    std::fill_n(row + first / 64, units / 64, std::uint64_t(0));
    for_vectors(units, [&](auto lanes, std::int64_t i) HWY_ATTR {
      row[(first + i) / 64] |= bits_of(fires(lanes, i)) << (i % 64);
    });
  }
}

// Units first .. first + count of one row; q as above.
void draw_bits(const Words& draws, std::uint32_t example, std::uint32_t particle,
               std::int64_t first, std::int64_t count, const float* q, std::uint64_t* row) {
  HWY_ALIGN std::uint32_t words[kDrawChunk];
  draws.fill(example, particle, first, count, words);
  const VF one = hn::Set(F32(), 1.0f), never = hn::Set(F32(), 2.0f);
  const auto fires = [&](auto lanes, std::int64_t i) HWY_ATTR {
    const VF u_q = hn::Mul(uniform_of(words + i), hn::Load(F32(), q + i));
    return hn::Le(lanes.or_else(u_q, never), one);
  };
  store_bits(first, count, fires, row);
}

// Rows first_row .. first_row + rows.
void sample_rows(const SampleHiddenArgs& p, const DrawKey& key, std::int64_t first_row,
                 std::int64_t rows) {
  const auto& [draw, tile, a, b, s, R] = p;
  const bool shared = !a.data || a.rows == tile.N;
  const bool by_logits = a.data || R.e.data;
  const Words draws(key);
  HWY_ALIGN float q[kDrawChunk];
  std::fill_n(q, kDrawChunk, 2.0f);  // p = 1/2 if there are no logits
  const std::int64_t end = first_row + rows;
  for (std::int64_t n = first_row / tile.M; n * tile.M < end; ++n) {
    const std::int64_t first_m = std::max<std::int64_t>(0, first_row - n * tile.M);
    const std::int64_t end_m = std::min(tile.M, end - n * tile.M);
    for (std::int64_t first = 0; first < s.cols; first += kDrawChunk) {
      const std::int64_t count = std::min(kDrawChunk, s.cols - first);
      for (std::int64_t m = first_m; m < end_m; ++m) {
        const std::int64_t r = n * tile.M + m;
        const std::int64_t particle = tile.first_particle + m;
        const bool fresh = !shared || m == first_m || particle == R.from_P;
        const bool by_R = R.draws(particle);
        if (by_logits && fresh)
          inverse_probabilities(a.data ? a.row(shared ? n : r) + first : nullptr,
                                a.data ? b + first : nullptr,
                                by_R ? R.e.row(n) + R.first + first : nullptr,
                                by_R ? R.bias + R.first + first : nullptr, count, q);
        draw_bits(draws, std::uint32_t(draw.example(tile.first + n)), std::uint32_t(particle),
                  first, count, q, row_words(s, r));
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
