// Per instruction set: walking a row in vectors, exp and sigmoid, and the bits of packed rows.
// Included once per target, hence the toggled guard.
#if defined(SFNN_HOST_BACKEND_CPU_SIMD_MATH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SFNN_HOST_BACKEND_CPU_SIMD_MATH_INL
#undef SFNN_HOST_BACKEND_CPU_SIMD_MATH_INL
#else
#define SFNN_HOST_BACKEND_CPU_SIMD_MATH_INL
#endif

#include <cstdint>
#include <cstring>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace sfnn {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using VF = hn::Vec<F32>;
constexpr std::int64_t kFloatLanes = hn::MaxLanes(F32());

// A whole vector of a row.
struct WholeVector {
  VF load(const float* from) const { return hn::LoadU(F32(), from); }
  void store(VF v, float* to) const { hn::StoreU(v, F32(), to); }
  VF or_else(VF v, VF) const { return v; }
};

// The last lanes of a row: nothing beyond them is touched; absent lanes read as zero.
struct PartVector {
  std::int64_t count;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3  // masked-out lanes do not fault there
  VF load(const float* from) const { return hn::MaskedLoad(mask(), F32(), from); }
  void store(VF v, float* to) const { hn::BlendedStore(v, mask(), F32(), to); }
#else
  VF load(const float* from) const {
    HWY_ALIGN float lanes[kFloatLanes] = {};
    std::memcpy(lanes, from, std::size_t(count) * sizeof(float));
    return hn::Load(F32(), lanes);
  }
  void store(VF v, float* to) const {
    HWY_ALIGN float lanes[kFloatLanes];
    hn::Store(v, F32(), lanes);
    std::memcpy(to, lanes, std::size_t(count) * sizeof(float));
  }
#endif
  // v in the lanes that exist, `absent` in the others.
  VF or_else(VF v, VF absent) const { return hn::IfThenElse(mask(), v, absent); }
  hn::Mask<F32> mask() const { return hn::FirstN(F32(), std::size_t(count)); }
};

// body(lanes, i) for the vectors of a row of n floats; lanes is one of the two above.
template <class Body>
HWY_INLINE void for_vectors(std::int64_t n, const Body& body) {
  std::int64_t i = 0;
  for (; i + kFloatLanes <= n; i += kFloatLanes) body(WholeVector(), i);
  if (i < n) body(PartVector{n - i}, i);
}

// exp(x) = 2^k exp(r), |r| <= log(2) / 2, and exp(r) = 1 + r + r^2 q(r) with q of degree 4 through
// the Chebyshev nodes: within 2 units in the last place, infinite above 88.73, zero below -86.99
// (where the truth is at most 1.7e-38).
HWY_INLINE VF exp_of(VF any) {
  const F32 d;
  // Between these bounds k lies in -126 .. 128.
  const VF x = hn::Max(hn::Set(d, -87.33f), hn::Min(hn::Set(d, 89.0f), any));
  // To a number of 1.5 * 2^23 an addition leaves no fraction: its last bits are k + 126.
  const VF shift = hn::Set(d, 12582912.0f + 126.0f);
  const VF shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), shift);
  const VF k = hn::Sub(shifted, shift);
  VF r = hn::NegMulAdd(k, hn::Set(d, 0.693359375f), x);  // log(2) in two parts, the first exact
  r = hn::NegMulAdd(k, hn::Set(d, -2.12194440e-4f), r);
  VF p = hn::MulAdd(hn::Set(d, 0.00139262504f), r, hn::Set(d, 0.00836323295f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.0416665524f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.166665763f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.5f));
  p = hn::MulAdd(hn::Mul(p, r), r, hn::Add(r, hn::Set(d, 1.0f)));
  // 2^k as 2^(k - 1) * 2, so that k = 128 overflows as it should.
  const hn::RebindToUnsigned<F32> du;
  const VF scale = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(du, shifted)));
  const VF result = hn::Mul(hn::Add(p, p), scale);
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR  // Max and Min pass a NaN on from their second operand
  return result;
#else  // they lose it
  return hn::IfThenElse(hn::Eq(any, any), result, any);
#endif
}

// As kernels/activations.hpp has it: exp(-a) may be infinite.
HWY_INLINE VF sigmoid_of(VF a) {
  const VF one = hn::Set(F32(), 1.0f);
  return hn::Div(one, hn::Add(one, exp_of(hn::Neg(a))));
}

// Bits i .. of a packed row as a mask; i is a multiple of the lane count.
HWY_INLINE hn::Mask<F32> mask_at(const std::uint64_t* row, std::int64_t i) {
  const std::uint64_t bits = row[i / 64] >> (i % 64);
  return hn::LoadMaskBits(F32(), reinterpret_cast<const std::uint8_t*>(&bits));
}

// A mask as the low bits of a word.
HWY_INLINE std::uint64_t bits_of(hn::Mask<F32> mask) {
  std::uint8_t bytes[8];
  hn::StoreMaskBits(F32(), mask, bytes);
  std::uint64_t bits = bytes[0];
  if constexpr (kFloatLanes > 8) bits |= std::uint64_t(bytes[1]) << 8;
  return bits;
}

}  // namespace HWY_NAMESPACE
}  // namespace sfnn
HWY_AFTER_NAMESPACE();

#endif
