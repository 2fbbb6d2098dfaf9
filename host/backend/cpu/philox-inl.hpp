// Philox4x32-10 in vectors: exactly the words of kernels/philox.hpp.
#if defined(SFNN_HOST_BACKEND_CPU_PHILOX_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SFNN_HOST_BACKEND_CPU_PHILOX_INL
#undef SFNN_HOST_BACKEND_CPU_PHILOX_INL
#else
#define SFNN_HOST_BACKEND_CPU_PHILOX_INL
#endif

#include <cstdint>

#include "host/backend/cpu/simd_math-inl.hpp"
#include "kernels/philox.hpp"

HWY_BEFORE_NAMESPACE();
namespace sfnn {
namespace HWY_NAMESPACE {

constexpr std::int64_t kDrawChunk = 256;  // units drawn at a time: a multiple of every vector

// The draws of one (seed, step, site).
//
// fill(...) sets words[i] to the word of unit first + i, i < count, of one row. `first` is a
// multiple of 4; words has room for kDrawChunk.
#if HWY_TARGET == HWY_SCALAR

class Words {
 public:
  explicit Words(const DrawKey& key) : key_(key) {}

  void fill(std::uint32_t example, std::uint32_t particle, std::int64_t first, std::int64_t count,
            std::uint32_t* words) const {
    for (std::int64_t i = 0; i < count; i += 4) {
      const PhiloxWords four = draw_words(key_, example, particle, std::uint32_t((first + i) / 4));
      for (int k = 0; k < 4; ++k) words[i + k] = four.v[k];
    }
  }

 private:
  DrawKey key_;
};

#else

// A 64-bit lane holds one 32-bit word of one block's state; what stands in its upper half does not
// matter, because MulEven reads the lower half alone.
class Words {
  using U32 = hn::ScalableTag<std::uint32_t>;
  using U64 = hn::ScalableTag<std::uint64_t>;
  using V64 = hn::Vec<U64>;
  static constexpr std::int64_t kBlocks = hn::MaxLanes(U64());
  static constexpr int kRounds = kPhiloxRounds;
  static constexpr int kMostChains = HWY_TARGET == HWY_AVX3 ? 3 : 2;  // as registers allow

 public:
  explicit Words(const DrawKey& key) : key_(key) {
    for (int round = 0; round < kRounds; ++round) {
      const auto times = std::uint32_t(round);
      hn::Store(hn::Set(U64(), std::uint32_t(key.seed) + times * kPhiloxWeyl0), U64(),
                key0_[round]);
      hn::Store(hn::Set(U64(), std::uint32_t(key.seed >> 32) + times * kPhiloxWeyl1), U64(),
                key1_[round]);
    }
    // Lane j works on block j / 2 + (j % 2) * kBlocks / 2: then interleaving gives units in order.
    for (std::int64_t j = 0; j < kBlocks; ++j)
      blocks_[j] = std::uint64_t(key.site) << 24 | std::uint64_t(j / 2 + j % 2 * (kBlocks / 2));
  }

  HWY_INLINE void fill(std::uint32_t example, std::uint32_t particle, std::int64_t first,
                       std::int64_t count, std::uint32_t* words) const {
    const V64 row[3] = {hn::Set(U64(), key_.step), hn::Set(U64(), particle),
                        hn::Set(U64(), example)};
    constexpr std::int64_t kUnits = 4 * kBlocks;
    std::int64_t i = 0;
    for (; i + (kMostChains - 1) * kUnits < count; i += kMostChains * kUnits)
      rounds<kMostChains>(row, first + i, words + i);
    for (; i + kUnits < count; i += 2 * kUnits) rounds<2>(row, first + i, words + i);
    if (i < count) rounds<1>(row, first + i, words + i);
  }

 private:
  // kChains vectors of blocks at a time: one alone would wait for its multiplications.
  template <int kChains>
  HWY_INLINE void rounds(const V64 (&row)[3], std::int64_t unit, std::uint32_t* words) const {
    const U64 d64;
    const U32 d32;
    const auto multiply = [&](std::uint32_t factor, V64 x) HWY_ATTR {
      return hn::MulEven(hn::Set(d32, factor), hn::BitCast(d32, x));
    };
    V64 x0[kChains], x1[kChains], x2[kChains], x3[kChains];
    for (int c = 0; c < kChains; ++c) {
      x0[c] = hn::Add(hn::Load(d64, blocks_), hn::Set(d64, std::uint64_t(unit / 4 + c * kBlocks)));
      x1[c] = row[0];
      x2[c] = row[1];
      x3[c] = row[2];
    }
    for (int round = 0; round < kRounds; ++round) {
      for (int c = 0; c < kChains; ++c) {
        const V64 p0 = multiply(kPhiloxMul0, x0[c]), p1 = multiply(kPhiloxMul1, x2[c]);
        x0[c] = hn::Xor(hn::Xor(hn::ShiftRight<32>(p1), x1[c]), hn::Load(d64, key0_[round]));
        x2[c] = hn::Xor(hn::Xor(hn::ShiftRight<32>(p0), x3[c]), hn::Load(d64, key1_[round]));
        x1[c] = p1;
        x3[c] = p0;
      }
    }
    const V64 low = hn::Set(d64, 0xFFFFFFFFu);
    for (int c = 0; c < kChains; ++c) {
      const V64 x01 = hn::Or(hn::And(x0[c], low), hn::ShiftLeft<32>(x1[c]));
      const V64 x23 = hn::Or(hn::And(x2[c], low), hn::ShiftLeft<32>(x3[c]));
      std::uint32_t* to = words + 4 * kBlocks * c;
      hn::StoreU(hn::BitCast(d32, hn::InterleaveLower(d64, x01, x23)), d32, to);
      hn::StoreU(hn::BitCast(d32, hn::InterleaveUpper(d64, x01, x23)), d32, to + 2 * kBlocks);
    }
  }

  DrawKey key_;
  HWY_ALIGN std::uint64_t key0_[kRounds][kBlocks];
  HWY_ALIGN std::uint64_t key1_[kRounds][kBlocks];
  HWY_ALIGN std::uint64_t blocks_[kBlocks];
};

#endif

// uniform_from_word: the factor is 2^-32 exactly, so rounding happens once, however it is fused.
HWY_INLINE VF uniform_of(const std::uint32_t* words) {
  const F32 d;
  const VF word = hn::ConvertTo(d, hn::LoadU(hn::RebindToUnsigned<F32>(), words));
  return hn::MulAdd(word, hn::Set(d, kWordToUniform), hn::Set(d, kWordToUniform / 2.0f));
}

}  // namespace HWY_NAMESPACE
}  // namespace sfnn
HWY_AFTER_NAMESPACE();

#endif
