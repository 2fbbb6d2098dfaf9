#include "host/run/pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "host/base/error.hpp"
#include "host/train/evaluate.hpp"
#include "kernels/philox.hpp"

namespace sfnn {
namespace {

// A cell with y in it: below x if y continues it, else alone.
std::vector<float> cell(const DataSet& data, const std::vector<float>& x, std::vector<float> y) {
  if (!data.y_below_x) return y;
  std::vector<float> both = x;
  both.insert(both.end(), y.begin(), y.end());
  return both;
}

// If y does not continue x: is x a picture that fits a cell?
bool shows_x(const DataSet& data) { return data.x_image == data.y_image; }

// How many cells stand left of the samples; none if nothing is given. to_R: y is.
int given_count(const DataSet& data, bool to_R) {
  if (data.D_in == 0) return to_R ? 1 : 0;
  return data.y_below_x || shows_x(data) ? 2 : 1;
}

// The cells left of the samples: the example, and the part of it that the network was given.
std::vector<std::vector<float>> given_cells(const DataSet& data, const std::vector<float>& x,
                                            const std::vector<float>& y, bool to_R) {
  if (data.D_in == 0 && !to_R) return {};
  std::vector<std::vector<float>> cells{cell(data, x, y)};
  if (data.y_below_x) {
    cells.push_back(cell(data, x, std::vector<float>(y.size(), kMaskedPixel)));
  } else if (data.D_in > 0 && shows_x(data)) {
    cells.push_back(x);
  }
  return cells;
}

// Are pixels probabilities of bits, which can be drawn?
bool has_bits(Output output) {
  switch (output) {
    case Output::bernoulli:
      return true;
    case Output::softmax:
    case Output::gaussian:
    case Output::gaussian_learnt:
    case Output::gaussian_each:
    case Output::gaussian_predicted:
    case Output::poisson:
      return false;
  }
  return false;
}

// Small pictures are magnified to about the size of 28-pixel digits.
int magnification_of(std::int64_t height) {
  return int(std::clamp<std::int64_t>(56 / height, 2, 4));
}

}  // namespace

bool can_show(const DataSet& data) { return data.y_image.height > 0 && data.test.count > 0; }

Picture sample_picture(const Model& model, const DataSet& data, std::uint64_t seed,
                       const PictureOptions& options, const Model* R) {
  const NetworkSpec& spec = model.spec();
  if (!can_show(data)) {
    throw ConfigError(
        fmt::format("{}: the targets are not pictures, so there is nothing to draw", data.name));
  }
  if (options.first >= data.test.count) {
    throw ConfigError(fmt::format("--first {}: there are {} test examples, counted from 0",
                                  options.first, data.test.count));
  }
  const std::int64_t height = data.y_image.height + (data.y_below_x ? data.x_image.height : 0);
  SampleGrid grid(height, data.y_image.width, given_count(data, R != nullptr),
                  magnification_of(height), data.y_image.channels);
  std::vector<std::int32_t> rows(std::min(options.rows, data.test.count - options.first));
  std::iota(rows.begin(), rows.end(), std::int32_t(options.first));
  const std::vector<float> outputs =
      sample_outputs(model, data.test, rows, options.samples, seed, /*same_draws=*/false, R).means;
  const DrawKey key{seed, kEvaluationStep, kSiteOutputSample};
  const bool draws_pixels = options.draw_pixels && has_bits(spec.output);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::vector<float> x = data.test.x.row(rows[r]), y = data.test.y.row(rows[r]);
    std::vector<std::vector<float>> cells = given_cells(data, x, y, R != nullptr);
    for (std::int64_t m = 0; m < options.samples; ++m) {
      const auto begin = outputs.begin() + (std::int64_t(r) * options.samples + m) * spec.D_out;
      std::vector<float> sample(begin, begin + spec.D_out);
      for (std::int64_t i = 0; i < spec.D_out && draws_pixels; ++i) {
        sample[i] =
            uniform(key, std::uint32_t(rows[r]), std::uint32_t(m), i) <= sample[i] ? 1.0f : 0.0f;
      }
      for (float& value : sample) value = std::clamp(value, 0.0f, 1.0f);
      cells.push_back(cell(data, x, std::move(sample)));
    }
    grid.add_row(cells);
  }
  return grid.render();
}

}  // namespace sfnn
