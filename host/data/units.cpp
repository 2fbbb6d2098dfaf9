#include "host/data/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/base/error.hpp"
#include "host/data/dataset.hpp"

namespace sfnn {
namespace {

struct Moments {
  std::vector<double> mean, variance;  // [cols]
};

// In one pass, by sums of the distances from the first row: the largest numbers of a column that
// is far from 0 cancel in them. bits: values are probabilities of bits, drawn again and again.
Moments moments_of(const Columns& columns, std::int64_t rows, bool bits) {
  Moments moments{std::vector<double>(columns.cols), std::vector<double>(columns.cols)};
  auto& [sum, squares] = moments;
  if (rows == 0) return moments;
  const std::vector<float> first = columns.row(0);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::vector<float> values = columns.row(row);
    for (std::int64_t col = 0; col < columns.cols; ++col) {
      const double distance = double(values[col]) - double(first[col]);
      sum[col] += distance;
      squares[col] += distance * distance;
    }
  }
  for (std::int64_t col = 0; col < columns.cols; ++col) {
    const double mean = sum[col] / double(rows);
    squares[col] = std::max(0.0, squares[col] / double(rows) - mean * mean);
    sum[col] = mean + double(first[col]);
    if (bits) squares[col] = sum[col] * (1 - sum[col]);
  }
  return moments;
}

// Rounding alone is no spread.
std::vector<float> scales_of(const Moments& moments) {
  std::vector<float> scales;
  for (std::size_t col = 0; col < moments.mean.size(); ++col) {
    const double scale = std::sqrt(moments.variance[col]);
    scales.push_back(
        scale > 1e-7 * std::abs(moments.mean[col]) && float(scale) > 1e-30f ? float(scale) : 1.0f);
  }
  return scales;
}

std::vector<float> floats(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

double Units::log_jacobian() const {
  double sum = 0;
  for (const float scale : y_scale) sum -= std::log(double(scale));
  return sum;
}

Units with_common_y_scale(Units units) {
  auto& scale = units.y_scale;
  // Those of a checkpoint are equal already, and stay as they are to the last bit.
  if (scale.empty() || std::ranges::all_of(scale, [&](float s) { return s == scale[0]; }))
    return units;
  double squares = 0;
  for (const float s : scale) squares += double(s) * s;
  std::ranges::fill(scale, float(std::sqrt(squares / double(scale.size()))));
  return units;
}

Units units_of(const DataSet& data, Standardize wanted, bool center) {
  const bool real = data.output == Output::gaussian;
  const bool x = wanted == Standardize::x || wanted == Standardize::both;
  const bool y = wanted == Standardize::y || (wanted == Standardize::both && real);
  require(!y || real,
          fmt::format("data.standardize = y is for gaussian targets, and those of {} are {}",
                      data.name, to_string(data.output)));
  Units units;
  if (x && data.D_in > 0) {
    const Moments moments = moments_of(data.train.x, data.train.count, data.binarize_train);
    units.x_mean = floats(moments.mean);
    units.x_scale = scales_of(moments);
  } else if (center) {
    units.x_mean = data.train.x.mean();
  }
  if (y) {
    const Moments moments = moments_of(data.train.y, data.train.count, /*bits=*/false);
    units.y_mean = floats(moments.mean);
    units.y_scale = scales_of(moments);
  }
  return units;
}

double deviation_of_targets(const DataSet& data) {
  const Moments moments = moments_of(data.train.y, data.train.count, /*bits=*/false);
  double sum = 0;
  for (const double variance : moments.variance) sum += variance;
  return std::sqrt(sum / double(moments.variance.size()));
}

}  // namespace sfnn
