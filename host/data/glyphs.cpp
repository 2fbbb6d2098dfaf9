#include "host/data/glyphs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/backend/free_memory.hpp"
#include "host/base/error.hpp"
#include "host/data/split.hpp"
#include "kernels/particle_weights.hpp"
#include "kernels/philox.hpp"

namespace sfnn {
namespace {

using Pixels = std::span<const std::uint8_t>;

// log of prod_i P(seen_i | clean_i)
double log_prob_of_flips(Pixels clean, Pixels seen) {
  double log_p = 0;
  for (std::size_t i = 0; i < clean.size(); ++i)
    log_p += clean[i] == seen[i] ? std::log1p(-kGlyphNoise) : std::log(kGlyphNoise);
  return log_p;
}

// log P(k|x): the upper shapes are equally likely beforehand.
std::vector<double> log_posterior(Pixels x) {
  std::vector<double> log_p;
  LogSumExp<double> log_p_x;
  for (const GlyphShape& shape : glyph_shapes()) {
    log_p.push_back(log_prob_of_flips(shape.upper, x));
    log_p_x.add(log_p.back());
  }
  for (double& value : log_p) value -= log_p_x.value();
  return log_p;
}

void require_halves(Pixels x, Pixels y) {
  if (x.size() != std::size_t(kHalfGlyph) || y.size() != std::size_t(kHalfGlyph))
    throw ShapeError("a glyph's halves have 392 pixels each");
}

// The glyphs of one part of the set: example n is a function of (seed, part, n).
class GlyphSource {
 public:
  GlyphSource(std::uint64_t seed, std::uint32_t part) : key_{seed, part, kSiteGlyphs} {}

  struct Glyph {
    std::size_t k;
    const GlyphShape& shape;
    const GlyphCompletion& completion;
  };

  Glyph glyph(std::int64_t n) const {
    const auto& shapes = glyph_shapes();
    const double u = uniform(key_, std::uint32_t(n), kChoice, 0);  // in (0, 1]
    const std::size_t k = std::min(std::size_t(u * double(shapes.size())), shapes.size() - 1);
    double left = uniform(key_, std::uint32_t(n), kChoice, 1);
    const auto& completions = shapes[k].completions;
    std::size_t j = 0;
    while (j + 1 < completions.size() && left > completions[j].probability)
      left -= completions[j++].probability;
    return {k, shapes[k], completions[j]};
  }

  // Appends a copy of the pixels in which each has flipped with probability `noise`. `first` is the
  // index of the first pixel in the whole glyph.
  void append(Pixels clean, double noise, std::int64_t n, std::int64_t first,
              std::vector<std::uint8_t>& out) const {
    for (std::size_t i = 0; i < clean.size(); ++i) {
      const bool flips = uniform(key_, std::uint32_t(n), kFlips, first + std::int64_t(i)) <= noise;
      out.push_back(clean[i] ^ std::uint8_t(flips));
    }
  }

 private:
  static constexpr std::uint32_t kChoice = 0, kFlips = 1;  // take the place of a particle
  DrawKey key_;
};

struct Widths {
  std::int64_t x, y;  // bytes per example
};

Widths widths_of(Task task) {
  if (task == Task::halves) return {kHalfGlyph, kHalfGlyph};
  if (task == Task::generate) return {0, 2 * kHalfGlyph};
  return {2 * kHalfGlyph, task == Task::classes ? 1 : 2 * kHalfGlyph};
}

// The examples are drawn, so nothing else bounds their number, and a system may grant memory that
// it does not have.
void require_memory(Task task, std::int64_t count) {
  constexpr double kOfTheSplit = 20;  // bytes per row: its number, twice, its key and its position
  const Widths widths = widths_of(task);
  const double bytes = double(count) * (double(widths.x + widths.y) + kOfTheSplit);
  const auto free = double(free_host_memory());
  if (bytes <= free) return;
  throw ConfigError(
      fmt::format("{} glyphs take {:.1f} GB of memory and {:.1f} GB are free: ask for fewer by "
                  "data.limit, data.valid or data.test_limit",
                  count, bytes / 1e9, free / 1e9));
}

Examples draw_examples(Task task, const GlyphSource& source, std::span<const std::int32_t> rows) {
  const bool halves = task == Task::halves;
  const bool generate = task == Task::generate;
  const double noise = halves || generate ? kGlyphNoise : kGlyphCopyNoise;
  const Widths widths = widths_of(task);
  std::vector<std::uint8_t> x, y;
  x.reserve(rows.size() * widths.x);
  y.reserve(rows.size() * widths.y);
  for (const std::int64_t n : rows) {
    const auto [k, shape, completion] = source.glyph(n);
    source.append(shape.upper, noise, n, 0, generate ? y : x);
    source.append(completion.lower, noise, n, kHalfGlyph, halves || generate ? y : x);
    if (task == Task::denoise) {
      y.insert(y.end(), shape.upper.begin(), shape.upper.end());
      y.insert(y.end(), completion.lower.begin(), completion.lower.end());
    } else if (task == Task::classes) {
      y.push_back(std::uint8_t(k));
    }
  }
  return {std::int64_t(rows.size()), {std::move(x), widths.x, 1}, {std::move(y), widths.y, 1}};
}

void require_known(Task task) {
  switch (task) {
    case Task::halves:
    case Task::denoise:
    case Task::classes:
    case Task::generate:
      return;
    case Task::automatic:
    case Task::faces:
      break;
  }
  throw ConfigError(fmt::format("data.task = {}: glyphs know halves, denoise, classes and generate",
                                to_string(task)));
}

}  // namespace

double glyph_log_prob(Pixels x, Pixels y) {
  require_halves(x, y);
  const std::vector<double> log_p_k = log_posterior(x);
  LogSumExp<double> log_p_y;
  for (std::size_t k = 0; k < log_p_k.size(); ++k)
    for (const auto& [pi, lower] : glyph_shapes()[k].completions)
      log_p_y.add(log_p_k[k] + std::log(pi) + log_prob_of_flips(lower, y));
  return log_p_y.value();
}

double glyph_factorial_log_prob(Pixels x, Pixels y) {
  require_halves(x, y);
  const std::vector<double> log_p_k = log_posterior(x);
  std::array<double, kHalfGlyph> p{};  // P*(y_i = 1 | x)
  for (std::size_t k = 0; k < log_p_k.size(); ++k)
    for (const auto& [pi, lower] : glyph_shapes()[k].completions)
      for (std::size_t i = 0; i < p.size(); ++i)
        p[i] += std::exp(log_p_k[k]) * pi * (lower[i] ? 1 - kGlyphNoise : kGlyphNoise);
  double log_p = 0;
  for (std::size_t i = 0; i < p.size(); ++i) log_p += std::log(y[i] ? p[i] : 1 - p[i]);
  return log_p;
}

GlyphBounds glyph_bounds(const Examples& examples) {
  const auto *x = std::get_if<std::vector<std::uint8_t>>(&examples.x.values),
             *y = std::get_if<std::vector<std::uint8_t>>(&examples.y.values);
  if (!x || !y || examples.x.cols != kHalfGlyph || examples.y.cols != kHalfGlyph)
    throw ShapeError("the bounds are known for the task halves of the glyphs");
  GlyphBounds sums{0, 0};
  for (std::int64_t n = 0; n < examples.count; ++n) {
    const Pixels x_n(x->data() + n * kHalfGlyph, kHalfGlyph);
    const Pixels y_n(y->data() + n * kHalfGlyph, kHalfGlyph);
    sums.optimum_nll -= glyph_log_prob(x_n, y_n);
    sums.factorial_nll -= glyph_factorial_log_prob(x_n, y_n);
  }
  const double count = double(examples.count);
  return {sums.optimum_nll / count, sums.factorial_nll / count};
}

DataSet load_glyphs(const DataOptions& options, Task task) {
  require_known(task);
  const GlyphSource train(options.seed, kTrainPart), test(options.seed, kTestPart);
  const std::int64_t count = options.limit > 0 ? options.limit + options.valid : kGlyphTrainCount;
  const std::int64_t test_count = options.test_limit > 0 ? options.test_limit : kGlyphTestCount;
  require_memory(task, count + test_count);
  const Split split = split_rows(count, options);

  DataSet data;
  data.name = fmt::format("glyphs {}", to_string(task));
  data.train = draw_examples(task, train, split.train);
  data.valid = draw_examples(task, train, split.valid);
  data.test = draw_examples(task, test, all_rows(test_count));
  data.D_in = data.train.x.cols;
  data.D_out = task == Task::classes ? std::int64_t(glyph_shapes().size()) : data.train.y.cols;
  data.output = task == Task::classes ? Output::softmax : Output::bernoulli;
  if (data.D_in > 0) data.x_image = {data.D_in / kGlyphSide, kGlyphSide};
  if (task != Task::classes) data.y_image = {data.D_out / kGlyphSide, kGlyphSide};
  data.y_below_x = task == Task::halves;
  return data;
}

}  // namespace sfnn
