// The built-in data set: 28x28 glyphs whose upper half x has several possible lower halves y.
//
// A glyph has an upper shape k, all equally likely, and a completion j of it with probability
// pi_kj; then every pixel of both halves flips with probability eps. All of this is known, and so
// is
//   P*(y|x) = sum_k P(k|x) sum_j pi_kj prod_i P(y_i | lower_kj,i):
// the best log-likelihood that any model can reach. A network without hidden randomness gives each
// pixel a probability of its own; the best of them outputs the marginals P*(y_i|x).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/data/dataset.hpp"

namespace sfnn {

constexpr std::int64_t kGlyphSide = 28;
constexpr std::int64_t kHalfGlyph = kGlyphSide * kGlyphSide / 2;  // pixels of x, and of y
constexpr double kGlyphNoise = 0.02;                              // eps
constexpr double kGlyphCopyNoise = 0.1;  // noise of x in the tasks denoise and classes
constexpr std::int64_t kGlyphTrainCount = 10000, kGlyphTestCount = 2000;

using HalfGlyph = std::array<std::uint8_t, kHalfGlyph>;  // each pixel 0 or 1

struct GlyphCompletion {
  double probability;  // pi_kj
  HalfGlyph lower;
};

struct GlyphShape {
  HalfGlyph upper;
  std::vector<GlyphCompletion> completions;
};

const std::vector<GlyphShape>& glyph_shapes();

// Natural logarithms; x and y hold kHalfGlyph pixels each, 0 or 1.
double glyph_log_prob(std::span<const std::uint8_t> x, std::span<const std::uint8_t> y);
double glyph_factorial_log_prob(std::span<const std::uint8_t> x, std::span<const std::uint8_t> y);

// Means of -log P over examples of the task halves, in nats.
struct GlyphBounds {
  double optimum_nll, factorial_nll;
};
GlyphBounds glyph_bounds(const Examples&);

// Tasks: halves; denoise (the clean glyph from a noisy copy); classes (k from a noisy copy);
// generate (the whole glyph from nothing).
// Examples are drawn, so data.limit and data.test_limit may also ask for more than the defaults;
// if they do not fit into the free memory, a ConfigError says so before any is drawn.
DataSet load_glyphs(const DataOptions&, Task);

}  // namespace sfnn
