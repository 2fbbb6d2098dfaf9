// Random numbers by index: Philox4x32-10 (Salmon et al., 2011) with cuRAND's counter layout.
//
// A draw is a pure function of (seed, step, site, example, particle, unit). Threads, tiles, launch
// shapes and the number of devices do not appear, so they cannot matter; with more particles the
// first ones stay as they were.
//
//   key          = seed
//   subsequence  = example << 32 | particle                 counter words 3, 2
//   offset / 4   = step << 32 | site << 24 | unit / 4       counter words 1, 0
//   word         = unit % 4
//
// cuRAND counts offsets in single words and in 64 bits, which leaves 30 bits for the step.
#pragma once

#include <cstdint>

#include "kernels/hd.hpp"

namespace sfnn {

constexpr std::uint32_t kMaxStep = (1u << 30) - 1;
// Training never gets there: evaluation has draws of its own.
constexpr std::uint32_t kEvaluationStep = kMaxStep;
constexpr std::int64_t kMaxDrawnUnits = std::int64_t(1) << 26;

// Who draws. Hidden layer l uses site l; the others count down from the top.
enum Site : std::uint32_t {
  kSiteMaxHidden = 200,
  kSiteInitProposal = 247,
  kSiteOutputSample = 248,
  kSiteGlyphs = 249,
  kSiteSplit = 250,
  kSitePermutation = 251,
  kSiteInputNoise = 252,
  kSiteBinarizeInput = 253,
  kSiteBinarizeTarget = 254,
  kSiteInitWeights = 255,
};

struct PhiloxWords {
  std::uint32_t v[4];
};

constexpr int kPhiloxRounds = 10;
constexpr std::uint32_t kPhiloxMul0 = 0xD2511F53u, kPhiloxMul1 = 0xCD9E8D57u;
constexpr std::uint32_t kPhiloxWeyl0 = 0x9E3779B9u, kPhiloxWeyl1 = 0xBB67AE85u;

SFNN_HD PhiloxWords philox4x32_10(PhiloxWords counter, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t p0 = std::uint64_t(kPhiloxMul0) * counter.v[0];
    const std::uint64_t p1 = std::uint64_t(kPhiloxMul1) * counter.v[2];
    counter = {{std::uint32_t(p1 >> 32) ^ counter.v[1] ^ key0, std::uint32_t(p1),
                std::uint32_t(p0 >> 32) ^ counter.v[3] ^ key1, std::uint32_t(p0)}};
    key0 += kPhiloxWeyl0;
    key1 += kPhiloxWeyl1;
  }
  return counter;
}

// A draw's index without row and unit.
struct DrawKey {
  std::uint64_t seed;
  std::uint32_t step;  // < 2^30
  std::uint32_t site;  // < 2^8
};

// The four words that units 4*block .. 4*block + 3 of one row draw from.
SFNN_HD PhiloxWords draw_words(const DrawKey& k, std::uint32_t example, std::uint32_t particle,
                               std::uint32_t block) {
  return philox4x32_10({{k.site << 24 | block, k.step, particle, example}}, std::uint32_t(k.seed),
                       std::uint32_t(k.seed >> 32));
}

SFNN_HD std::uint32_t draw_word(const DrawKey& k, std::uint32_t example, std::uint32_t particle,
                                std::int64_t unit) {
  return draw_words(k, example, particle, std::uint32_t(unit >> 2)).v[unit & 3];
}

// cuRAND's mapping to (0, 1]: 1 occurs, 0 never. A unit fires if u <= p, so p = 0 and p = 1 are
// certain.
constexpr float kWordToUniform = 2.3283064e-10f;  // 2^-32 exactly
SFNN_HD float uniform_from_word(std::uint32_t word) {
  return float(word) * kWordToUniform + kWordToUniform / 2.0f;
}

SFNN_HD float uniform(const DrawKey& k, std::uint32_t example, std::uint32_t particle,
                      std::int64_t unit) {
  return uniform_from_word(draw_word(k, example, particle, unit));
}

// A shuffled order is 0, 1, 2, ... sorted by these.
SFNN_HD std::uint64_t shuffle_key(const DrawKey& k, std::uint32_t i) {
  const PhiloxWords words = draw_words(k, i, /*particle=*/0, /*block=*/0);
  return std::uint64_t(words.v[1]) << 32 | words.v[0];
}

}  // namespace sfnn
