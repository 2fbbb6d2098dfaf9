// What the built-in set promises: its examples follow the stated distribution, and its
// log-likelihoods are exact.
#include "host/data/glyphs.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "host/base/error.hpp"

namespace sfnn {
namespace {

using Pixels = std::span<const std::uint8_t>;

std::int64_t differing_pixels(Pixels a, Pixels b) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += a[i] != b[i];
  return count;
}

Pixels row(const Columns& columns, std::int64_t n) {
  return Pixels(std::get<std::vector<std::uint8_t>>(columns.values))
      .subspan(n * columns.cols, columns.cols);
}

DataOptions glyph_options(std::int64_t train_count, std::int64_t test_count) {
  DataOptions options;
  options.limit = train_count;
  options.test_limit = test_count;
  return options;
}

TEST(Glyphs, CompletionsAreUnequallyLikelyAndSumToOne) {
  for (const GlyphShape& shape : glyph_shapes()) {
    double sum = 0;
    std::set<double> distinct;
    for (const GlyphCompletion& completion : shape.completions) {
      sum += completion.probability;
      distinct.insert(completion.probability);
    }
    EXPECT_NEAR(sum, 1, 1e-12);
    EXPECT_GE(shape.completions.size(), 2u);
    EXPECT_EQ(distinct.size(), shape.completions.size());
  }
}

// With distances of 20 and more, nearest-shape decoding at 2 % noise errs less than once in 10^9
// glyphs: the frequency tests below may use it.
TEST(Glyphs, ShapesLieFarApart) {
  const auto& shapes = glyph_shapes();
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    for (std::size_t other = 0; other < k; ++other)
      EXPECT_GE(differing_pixels(shapes[k].upper, shapes[other].upper), 20) << k << " " << other;
    const auto& completions = shapes[k].completions;
    for (std::size_t j = 0; j < completions.size(); ++j)
      for (std::size_t other = 0; other < j; ++other)
        EXPECT_GE(differing_pixels(completions[j].lower, completions[other].lower), 20)
            << k << ": " << j << " " << other;
  }
}

TEST(Glyphs, FrequenciesMatchTheStatedProbabilities) {
  constexpr std::int64_t kCount = 20000;
  const Examples examples = load_data(glyph_options(kCount, 1)).train;
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> seen;
  std::int64_t flips = 0;
  for (std::int64_t n = 0; n < kCount; ++n) {
    std::tuple<std::int64_t, std::size_t, std::size_t> nearest{kHalfGlyph * 2, 0, 0};
    for (std::size_t k = 0; k < glyph_shapes().size(); ++k) {
      const GlyphShape& shape = glyph_shapes()[k];
      const std::int64_t upper = differing_pixels(shape.upper, row(examples.x, n));
      for (std::size_t j = 0; j < shape.completions.size(); ++j)
        nearest = std::min(
            nearest,
            {upper + differing_pixels(shape.completions[j].lower, row(examples.y, n)), k, j});
    }
    const auto [distance, k, j] = nearest;
    ++seen[{k, j}];
    flips += distance;
  }
  const auto expect_frequency = [](double hits, double trials, double p) {
    EXPECT_NEAR(hits / trials, p, 4.5 * std::sqrt(p * (1 - p) / trials));
  };
  for (std::size_t k = 0; k < glyph_shapes().size(); ++k)
    for (std::size_t j = 0; j < glyph_shapes()[k].completions.size(); ++j)
      expect_frequency(
          double(seen[{k, j}]), kCount,
          glyph_shapes()[k].completions[j].probability / double(glyph_shapes().size()));
  expect_frequency(double(flips), double(kCount * 2 * kHalfGlyph), kGlyphNoise);
}

// P*(y|x) = P(x, y) / P(x), each a sum over all glyphs of products over single pixels, in plain
// long double arithmetic and without logarithms.
TEST(Glyphs, LogProbIsTheRatioOfJointAndMarginal) {
  const auto p_of = [](Pixels clean, Pixels seen) {
    long double p = 1;
    for (std::size_t i = 0; i < clean.size(); ++i)
      p *= clean[i] == seen[i] ? 1 - kGlyphNoise : kGlyphNoise;
    return p;
  };
  const Examples examples = load_data(glyph_options(1, 50)).test;
  for (std::int64_t n = 0; n < examples.count; ++n) {
    // Half of one upper shape, half of another: the posterior over shapes matters.
    HalfGlyph x;
    for (std::int64_t i = 0; i < kHalfGlyph; ++i)
      x[i] = n % 2 ? row(examples.x, n)[i] : row(examples.x, i % 2 ? n : n + 1)[i];
    const Pixels y = row(examples.y, n);
    long double joint = 0, marginal = 0;
    for (const GlyphShape& shape : glyph_shapes()) {
      marginal += p_of(shape.upper, x);
      for (const auto& [pi, lower] : shape.completions)
        joint += p_of(shape.upper, x) * pi * p_of(lower, y);
    }
    EXPECT_NEAR(glyph_log_prob(x, y), double(std::log(joint / marginal)), 1e-9) << n;
  }
}

// Around a clean completion, the exact probabilities of all y that differ from it in a subset of
// ten pixels add up to the probability of its other 382.
TEST(Glyphs, ProbabilitiesOfAllPatternsOfTenPixelsSumToTheMarginal) {
  const GlyphShape& shape = glyph_shapes()[1];
  double sum = 0;
  for (unsigned pattern = 0; pattern < 1024; ++pattern) {
    HalfGlyph y = shape.completions[1].lower;
    for (int bit = 0; bit < 10; ++bit) y[30 * bit + 17] = pattern >> bit & 1;
    sum += std::exp(glyph_log_prob(shape.upper, y));
  }
  double marginal = 0, p_x = 0;
  for (const GlyphShape& other : glyph_shapes()) {
    const auto d_x = double(differing_pixels(other.upper, shape.upper));
    const double w = std::pow(kGlyphNoise, d_x) * std::pow(1 - kGlyphNoise, -d_x);
    p_x += w;
    for (const auto& [pi, lower] : other.completions) {
      double p = 1;
      for (std::int64_t i = 0; i < kHalfGlyph; ++i) {
        const bool summed_out = i % 30 == 17 && i / 30 < 10;
        if (!summed_out)
          p *= lower[i] == shape.completions[1].lower[i] ? 1 - kGlyphNoise : kGlyphNoise;
      }
      marginal += w * pi * p;
    }
  }
  EXPECT_NEAR(sum / (marginal / p_x), 1, 1e-9);
}

// The factorial model's probability of pixel i, read off by flipping it, equals the sum of P* over
// completions, and the two models agree if one completion is almost certain.
TEST(Glyphs, FactorialLogProbHasTheMarginalsOfTheExactOne) {
  for (const GlyphShape& shape : glyph_shapes()) {
    const HalfGlyph y0{};
    const double base = glyph_factorial_log_prob(shape.upper, y0);
    double total = 0;  // sum_i log P(y_i = 0)
    for (std::int64_t i = 0; i < kHalfGlyph; ++i) {
      HalfGlyph y = y0;
      y[i] = 1;
      const double p = 1 / (1 + std::exp(base - glyph_factorial_log_prob(shape.upper, y)));
      double expected = 0;
      for (const auto& [pi, lower] : shape.completions)
        expected += pi * (lower[i] ? 1 - kGlyphNoise : kGlyphNoise);
      EXPECT_NEAR(p, expected, 1e-9);  // other shapes have posterior below 1e-30
      total += std::log(1 - expected);
    }
    EXPECT_NEAR(base, total, 1e-6);
  }
}

TEST(Glyphs, HiddenRandomnessIsWorthMuch) {
  const GlyphBounds bounds = glyph_bounds(load_data({}).test);
  EXPECT_GE(bounds.factorial_nll, 1.5 * bounds.optimum_nll);
  // Entropy of the noise and of the choice of completion; 2000 examples of standard deviation 11.
  double entropy = -kHalfGlyph * (kGlyphNoise * std::log(kGlyphNoise) +
                                  (1 - kGlyphNoise) * std::log1p(-kGlyphNoise));
  for (const GlyphShape& shape : glyph_shapes())
    for (const auto& [pi, lower] : shape.completions)
      entropy -= pi * std::log(pi) / double(glyph_shapes().size());
  EXPECT_NEAR(bounds.optimum_nll, entropy, 4.5 * 11 / std::sqrt(2000));
}

TEST(Glyphs, SizesAndShapes) {
  const DataSet data = load_data({});
  EXPECT_EQ(data.train.count, 10000);
  EXPECT_EQ(data.valid.count, 0);
  EXPECT_EQ(data.test.count, 2000);
  EXPECT_EQ(data.D_in, 392);
  EXPECT_EQ(data.D_out, 392);
  EXPECT_EQ(data.x_image.height, 14);
  EXPECT_EQ(data.output, Output::bernoulli);
  EXPECT_FALSE(data.binarize_train);
}

TEST(Glyphs, ExamplesBelongToSeedPartAndIndex) {
  const DataSet ten = load_data(glyph_options(10, 10)), twenty = load_data(glyph_options(20, 20));
  for (std::int64_t n = 0; n < 10; ++n) {
    EXPECT_EQ(differing_pixels(row(ten.train.y, n), row(twenty.train.y, n)), 0);
    EXPECT_EQ(differing_pixels(row(ten.test.x, n), row(twenty.test.x, n)), 0);
  }
  EXPECT_NE(ten.train.y.values, ten.test.y.values);
  DataOptions other = glyph_options(10, 10);
  other.seed = 1;
  EXPECT_NE(load_data(other).train.x.values, ten.train.x.values);
}

TEST(Glyphs, DenoiseGivesTheCleanGlyphFromANoisyCopy) {
  DataOptions options = glyph_options(500, 10);
  options.task = Task::denoise;
  const DataSet data = load_data(options);
  EXPECT_EQ(data.D_in, 784);
  EXPECT_EQ(data.D_out, 784);
  std::int64_t flips = 0;
  for (std::int64_t n = 0; n < data.train.count; ++n) {
    const Pixels x = row(data.train.x, n), y = row(data.train.y, n);
    flips += differing_pixels(x, y);
    bool clean = false;
    for (const GlyphShape& shape : glyph_shapes())
      for (const auto& [pi, lower] : shape.completions)
        clean |=
            differing_pixels(shape.upper, y.first(392)) + differing_pixels(lower, y.last(392)) == 0;
    EXPECT_TRUE(clean) << n;
  }
  const double trials = 500 * 784, p = kGlyphCopyNoise;
  EXPECT_NEAR(double(flips) / trials, p, 4.5 * std::sqrt(p * (1 - p) / trials));
}

TEST(Glyphs, ClassesNameTheUpperShape) {
  DataOptions options = glyph_options(300, 10);
  options.task = Task::classes;
  const DataSet data = load_data(options);
  EXPECT_EQ(data.output, Output::softmax);
  EXPECT_EQ(data.D_out, std::int64_t(glyph_shapes().size()));
  EXPECT_EQ(data.train.y.cols, 1);
  for (std::int64_t n = 0; n < data.train.count; ++n) {
    const auto k = std::size_t(data.train.y.at(n, 0));
    EXPECT_LT(differing_pixels(glyph_shapes()[k].upper, row(data.train.x, n).first(392)), 39 + 40);
    for (std::size_t other = 0; other < glyph_shapes().size(); ++other)
      EXPECT_GE(differing_pixels(glyph_shapes()[other].upper, row(data.train.x, n).first(392)),
                differing_pixels(glyph_shapes()[k].upper, row(data.train.x, n).first(392)));
  }
}

// As many as a config may ask for: more than a terabyte. A loader that tried would meet the limit
// before the machine's own.
TEST(Glyphs, MoreThanMemoryHoldsIsRefusedBeforeAnyIsDrawn) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
#if !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)  // which need far more than that
  const rlimit limit{std::min<rlim_t>(before.rlim_max, rlim_t(1) << 30), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
#endif
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  DataOptions validation = glyph_options(5, 5);
  validation.valid = kMost;
  for (const DataOptions& options : {glyph_options(kMost, 5), glyph_options(5, kMost), validation})
    EXPECT_THROW(load_data(options), ConfigError);
  setrlimit(RLIMIT_AS, &before);
}

TEST(Glyphs, BoundsAreRefusedForOtherTasks) {
  DataOptions options = glyph_options(5, 5);
  options.task = Task::denoise;
  EXPECT_THROW(glyph_bounds(load_data(options).test), ShapeError);
  options.task = Task::faces;
  EXPECT_THROW(load_data(options), ConfigError);
}

}  // namespace
}  // namespace sfnn
