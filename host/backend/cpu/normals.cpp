#include "host/backend/cpu/normals.hpp"

#include <algorithm>

#include "host/backend/cpu/simd.hpp"
#include "kernels/box_muller.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "host/backend/cpu/normals.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once per instruction set.
#include "host/backend/cpu/philox-inl.hpp"
#include "hwy/contrib/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sfnn {
namespace HWY_NAMESPACE {

// From uniforms u and v in turn. Reads and writes whole vectors.
#if HWY_TARGET == HWY_SCALAR

void normals_of(const float* uv, std::int64_t count, double sigma, float* out) {
  for (std::int64_t i = 0; i < count; ++i)
    out[i] = float(sigma * box_muller<double>(uv[2 * i], uv[2 * i + 1]));
}

#else

// The functions in vectors are off by a few units in the last place of a double, which rarely
// decides how a float is rounded. Where it could, or where a relative error might be larger, the
// scalar formula has its say: once in a hundred thousand numbers.
void normals_of(const float* uv, std::int64_t count, double sigma, float* out) {
  const hn::ScalableTag<double> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::Rebind<float, decltype(d)> df;
  constexpr std::int64_t kLanes = hn::MaxLanes(hn::ScalableTag<double>());
  for (std::int64_t i = 0; i < count; i += kLanes) {
    hn::Vec<decltype(df)> u, v;
    hn::LoadInterleaved2(df, uv + 2 * i, u, v);
    const auto radius = hn::Sqrt(hn::Mul(hn::Set(d, -2.0), hn::Log(d, hn::PromoteTo(d, u))));
    const auto cosine = hn::Cos(d, hn::Mul(hn::Set(d, kTwoPi), hn::PromoteTo(d, v)));
    const auto value = hn::Mul(hn::Set(d, sigma), hn::Mul(radius, cosine));
    hn::StoreU(hn::DemoteTo(df, value), df, out + i);
    // A float drops 29 bits of a double: is what they hold within 1024 units of one half?
    const auto dropped = hn::And(hn::BitCast(du, value), hn::Set(du, (1u << 29) - 1));
    const auto above = hn::Sub(dropped, hn::Set(du, (1u << 28) - 1024));
    const auto is_near = hn::MaskFromVec(hn::BitCast(
        d, hn::VecFromMask(
               du, hn::Eq(hn::And(above, hn::Set(du, ~std::uint64_t(2047))), hn::Zero(du)))));
    const auto is_small = hn::Or(hn::Lt(hn::Abs(cosine), hn::Set(d, 0x1p-16)),
                                 hn::Lt(hn::Abs(value), hn::Set(d, 0x1p-120)));
    const auto doubtful = hn::Or(is_near, is_small);
    if (hn::AllFalse(d, doubtful)) continue;
    for (std::int64_t j = i; j < std::min(i + kLanes, count); ++j)
      out[j] = float(sigma * box_muller<double>(uv[2 * j], uv[2 * j + 1]));
  }
}

#endif

void fill(const DrawKey& key, std::uint32_t example, std::uint32_t particle, double sigma,
          std::span<float> out) {
  const Words draws(key);
  HWY_ALIGN std::uint32_t words[kDrawChunk];
  HWY_ALIGN float uniforms[kDrawChunk], normals[kDrawChunk / 2];
  const auto size = std::int64_t(out.size());
  for (std::int64_t first = 0; first < size; first += kDrawChunk / 2) {
    const std::int64_t count = std::min(kDrawChunk / 2, size - first);
    draws.fill(example, particle, 2 * first, 2 * count, words);
    for (std::int64_t i = 0; i < 2 * count; i += kFloatLanes)
      hn::Store(uniform_of(words + i), F32(), uniforms + i);
    normals_of(uniforms, count, sigma, normals);
    std::copy_n(normals, count, out.data() + first);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sfnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sfnn {
HWY_EXPORT(fill);

void cpu::fill_normals(const DrawKey& key, std::uint32_t example, std::uint32_t particle,
                       double sigma, std::span<float> out) {
  HWY_DYNAMIC_DISPATCH(fill)(key, example, particle, sigma, out);
}

}  // namespace sfnn
#endif  // HWY_ONCE
