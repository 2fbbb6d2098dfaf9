// x or y of a tile, 256 units at a time: scale, draw, centre, add noise. Per element as
// kernels/gather.hpp has it.
#include "kernels/gather.hpp"

#include <algorithm>

#include "host/backend/cpu/sample.hpp"
#include "host/backend/cpu/simd.hpp"
#include "host/backend/team.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "host/backend/cpu/gather.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once per instruction set.
#include "host/backend/cpu/philox-inl.hpp"
#include "hwy/contrib/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sfnn {
namespace HWY_NAMESPACE {

void load_values(const DataColumns& data, std::int64_t row, std::int64_t first, std::int64_t count,
                 float* out) {
  const std::int64_t e = row * data.cols + first;
  if (data.type == DataColumns::Type::u8) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(data.data) + e;
    for (std::int64_t i = 0; i < count; ++i) out[i] = data.scale * float(bytes[i]);
  } else {
    const auto* floats = reinterpret_cast<const float*>(data.data) + e;
    for (std::int64_t i = 0; i < count; ++i) out[i] = data.scale * floats[i];
  }
}

void binarize(const Words& draws, std::int64_t row, std::int64_t first, std::int64_t count,
              float* values) {
  HWY_ALIGN std::uint32_t words[kDrawChunk];
  draws.fill(std::uint32_t(row), /*particle=*/0, first, count, words);
  for_vectors(count, [&](auto lanes, std::int64_t i) HWY_ATTR {
    const auto fires = hn::Le(uniform_of(words + i), lanes.load(values + i));
    lanes.store(hn::IfThenElseZero(fires, hn::Set(F32(), 1.0f)), values + i);
  });
}

#if HWY_TARGET == HWY_SCALAR

void add_noise(const Words&, const DrawKey& key, float deviation, std::int64_t row,
               std::int64_t first, std::int64_t count, float* values) {
  for (std::int64_t i = 0; i < count; ++i)
    values[i] += deviation * normal_at(key, std::uint32_t(row), first + i);
}

#else

// box_muller in vectors: units 2k and 2k + 1 are the cosine and the sine of one pair of uniforms.
void add_noise(const Words& draws, const DrawKey&, float deviation, std::int64_t row,
               std::int64_t first, std::int64_t count, float* values) {
  const F32 d;
  HWY_ALIGN std::uint32_t words[kDrawChunk];
  draws.fill(std::uint32_t(row), /*particle=*/0, first, count, words);
  for_vectors(count, [&](auto lanes, std::int64_t i) HWY_ATTR {
    const VF u = uniform_of(words + i);
    const VF radius = hn::Sqrt(hn::Mul(hn::Set(d, -2.0f), hn::Log(d, hn::DupEven(u))));
    const VF angle = hn::Mul(hn::Set(d, float(kTwoPi)), hn::DupOdd(u));
    const VF normal = hn::Mul(radius, hn::OddEven(hn::Sin(d, angle), hn::Cos(d, angle)));
    lanes.store(hn::MulAdd(hn::Set(d, deviation), normal, lanes.load(values + i)), values + i);
  });
}

#endif

void gather_rows(const GatherArgs& p, const DrawKey& binarize_key, const DrawKey& noise_key,
                 std::int64_t first_example, std::int64_t first_row, std::int64_t rows) {
  const Words bit_draws(binarize_key), noise_draws(noise_key);
  for (std::int64_t n = first_row; n < first_row + rows; ++n) {
    const std::int64_t position = first_example + n;
    const std::int64_t row = p.order ? p.order[position] : position;
    for (std::int64_t first = 0; first < p.data.cols; first += kDrawChunk) {
      const std::int64_t count = std::min(kDrawChunk, p.data.cols - first);
      float* out = p.out.row(n) + first;
      load_values(p.data, p.stored_row(n, row), first, count, out);
      if (p.binarize) binarize(bit_draws, row, first, count, out);
      if (p.mean)
        for (std::int64_t i = 0; i < count; ++i) out[i] -= p.mean[first + i];
      if (p.inverse_scale)
        for (std::int64_t i = 0; i < count; ++i) out[i] *= p.inverse_scale[first + i];
      if (p.noise > 0) add_noise(noise_draws, noise_key, p.noise, row, first, count, out);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sfnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sfnn {
HWY_EXPORT(gather_rows);

void cpu::gather(const GatherArgs& p, const DrawKey& binarize, const DrawKey& noise,
                 std::int64_t first) {
  share_range(p.tile.N, p.data.cols, 1, [&](std::int64_t first_row, std::int64_t rows) {
    HWY_DYNAMIC_DISPATCH(gather_rows)(p, binarize, noise, first, first_row, rows);
  });
}

}  // namespace sfnn
#endif  // HWY_ONCE
