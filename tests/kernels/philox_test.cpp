// Philox4x32-10 against its published known answers, against cuRAND, and the layout of its index.
#include "kernels/philox.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/support/random.hpp"

#ifdef SFNN_HAVE_CURAND
#include <curand.h>
#include <curand_kernel.h>
#endif

namespace sfnn {
namespace {

using Words = std::array<std::uint32_t, 4>;

Words philox(const Words& counter, std::uint32_t key0, std::uint32_t key1) {
  const PhiloxWords w =
      philox4x32_10({{counter[0], counter[1], counter[2], counter[3]}}, key0, key1);
  return {w.v[0], w.v[1], w.v[2], w.v[3]};
}

TEST(Philox, KnownAnswersOfRandom123) {
  constexpr std::uint32_t kOnes = 0xffffffffu;
  EXPECT_EQ(philox({0, 0, 0, 0}, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, kOnes, kOnes),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// Changing this changes every run that was ever made.
TEST(Philox, IndexLayout) {
  const DrawKey key{/*seed=*/0x0123456789abcdef, /*step=*/0x2fedcba9, /*site=*/0xfc};
  const std::uint32_t example = 0x11223344, particle = 0x55667788;
  const std::int64_t unit = 4 * 0x00abcdef + 2;
  const Words words =
      philox({0xfcabcdef, 0x2fedcba9, 0x55667788, 0x11223344}, 0x89abcdef, 0x01234567);
  EXPECT_EQ(draw_word(key, example, particle, unit), words[2]);
  const PhiloxWords block = draw_words(key, example, particle, 0x00abcdef);
  for (int word = 0; word < 4; ++word) EXPECT_EQ(block.v[word], words[word]);
  EXPECT_EQ(uniform(key, example, particle, unit), uniform_from_word(words[2]));
}

TEST(Philox, FirstWordsOfSeedZero) {
  const Words expected{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  for (int unit = 0; unit < 4; ++unit)
    EXPECT_EQ(draw_word({/*seed=*/0, /*step=*/0, /*site=*/0}, 0, 0, unit), expected[unit]);
}

// (0, 1]: a unit with p = 1 always fires and one with p = 0 never does.
TEST(Philox, UniformsLieAboveZeroAndReachOne) {
  EXPECT_GT(uniform_from_word(0), 0.0f);
  EXPECT_EQ(uniform_from_word(std::numeric_limits<std::uint32_t>::max()), 1.0f);
  EXPECT_LE(uniform_from_word(0x80000000u), 0.5f + 1e-7f);
  Random random(1);
  for (int i = 0; i < 10000; ++i) {
    const std::uint32_t word = std::uint32_t(random.word());
    EXPECT_NEAR(uniform_from_word(word), double(word) * 0x1p-32, 1e-7);
  }
}

// n uniforms have mean 1/2 and variance 1/12; neighbours in any part of the index do not correlate.
TEST(Philox, UniformsAreUniformAndUncorrelated) {
  constexpr int kCount = 100000;
  constexpr double kSigmas = 4.5;
  const DrawKey key{/*seed=*/7, /*step=*/3, /*site=*/2}, next_step{7, 4, 2}, next_site{7, 3, 3};
  double mean = 0, variance = 0;
  std::array<double, 5> correlation{};
  for (std::uint32_t i = 0; i < kCount; ++i) {
    const double u = uniform(key, i, 0, 0) - 0.5;
    mean += u / kCount;
    variance += u * u / kCount;
    const double neighbours[] = {uniform(key, i + 1, 0, 0), uniform(key, i, 1, 0),
                                 uniform(key, i, 0, 1), uniform(next_step, i, 0, 0),
                                 uniform(next_site, i, 0, 0)};
    for (int k = 0; k < 5; ++k) correlation[k] += 12 * u * (neighbours[k] - 0.5) / kCount;
  }
  EXPECT_NEAR(mean, 0, kSigmas * std::sqrt(1.0 / 12 / kCount));
  EXPECT_NEAR(variance, 1.0 / 12, kSigmas * std::sqrt(1.0 / 180 / kCount));
  for (double r : correlation) EXPECT_NEAR(r, 0, kSigmas / std::sqrt(double(kCount)));
}

#ifdef SFNN_HAVE_CURAND

// The same index in cuRAND's words: seed, subsequence, offset.
TEST(Philox, EqualsCurandsDeviceFunctions) {
  Random random(2);
  for (int i = 0; i < 2000; ++i) {
    const DrawKey key{random.word(), std::uint32_t(random.integer(0, kMaxStep)),
                      std::uint32_t(random.integer(0, 255))};
    const auto example = std::uint32_t(random.word()), particle = std::uint32_t(random.word());
    const std::int64_t unit = random.integer(0, kMaxDrawnUnits - 1);
    const std::uint64_t subsequence = std::uint64_t(example) << 32 | particle;
    const std::uint64_t block =
        std::uint64_t(key.step) << 32 | std::uint64_t(key.site) << 24 | std::uint64_t(unit / 4);

    curandStatePhilox4_32_10_t state;
    curand_init(key.seed, subsequence, 4 * block, &state);
    const uint4 words = curand4(&state);
    const PhiloxWords ours = draw_words(key, example, particle, std::uint32_t(unit / 4));
    ASSERT_EQ((Words{ours.v[0], ours.v[1], ours.v[2], ours.v[3]}),
              (Words{words.x, words.y, words.z, words.w}));

    curand_init(key.seed, subsequence, 4 * block + std::uint64_t(unit % 4), &state);
    ASSERT_EQ(uniform(key, example, particle, unit), curand_uniform(&state));
  }
}

// cuRAND's host generator gives subsequence q its words 4q .. 4q + 3.
TEST(Philox, EqualsCurandsHostGenerator) {
  constexpr std::size_t kSubsequences = 4096;
  for (std::uint64_t seed : std::vector<std::uint64_t>{0, 42, 0x0123456789abcdef}) {
    std::vector<unsigned int> words(4 * kSubsequences);
    std::vector<float> uniforms(words.size());
    curandGenerator_t generator = nullptr;
    ASSERT_EQ(curandCreateGeneratorHost(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10),
              CURAND_STATUS_SUCCESS);
    EXPECT_EQ(curandSetPseudoRandomGeneratorSeed(generator, seed), CURAND_STATUS_SUCCESS);
    EXPECT_EQ(curandGenerate(generator, words.data(), words.size()), CURAND_STATUS_SUCCESS);
    EXPECT_EQ(curandSetGeneratorOffset(generator, 0), CURAND_STATUS_SUCCESS);
    EXPECT_EQ(curandGenerateUniform(generator, uniforms.data(), uniforms.size()),
              CURAND_STATUS_SUCCESS);
    EXPECT_EQ(curandDestroyGenerator(generator), CURAND_STATUS_SUCCESS);
    for (std::uint32_t i = 0; i < words.size(); ++i) {
      const DrawKey key{seed, /*step=*/0, /*site=*/0};
      ASSERT_EQ(words[i], draw_word(key, /*example=*/0, /*particle=*/i / 4, /*unit=*/i % 4));
      ASSERT_EQ(uniforms[i], uniform(key, /*example=*/0, /*particle=*/i / 4, /*unit=*/i % 4));
    }
  }
}

#else

TEST(Philox, EqualsCurandsDeviceFunctions) { GTEST_SKIP() << "built without the CUDA toolkit"; }
TEST(Philox, EqualsCurandsHostGenerator) { GTEST_SKIP() << "built without the CUDA toolkit"; }

#endif

}  // namespace
}  // namespace sfnn
