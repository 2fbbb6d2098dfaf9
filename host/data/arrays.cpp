#include "host/data/arrays.hpp"

#include <fmt/format.h>

#include <cmath>

#include "host/base/error.hpp"
#include "host/data/targets.hpp"

namespace sfnn {
namespace {

void require_finite(std::span<const float> x) {
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!std::isfinite(x[i])) throw DataError(fmt::format("input number {} is not finite", i));
}

void require_targets(const DataSet& data, std::span<const float> y) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (is_target(data.output, data.D_out, y[i])) continue;
    throw DataError(fmt::format("target number {} is {}, and {} is needed", i, y[i],
                                wanted_target(data.output, data.D_out)));
  }
}

Examples copy(const DataSet& data, const Arrays& arrays) {
  const std::int64_t y_cols = target_width(data.output, data.D_out);
  const auto x_size = std::int64_t(arrays.x.size()), y_size = std::int64_t(arrays.y.size());
  const std::int64_t count = y_size / y_cols;
  if (y_size % y_cols != 0 || x_size != count * data.D_in) {
    throw DataError(
        fmt::format("{} input numbers and {} target numbers are not as many examples of {} and {}",
                    x_size, y_size, data.D_in, y_cols));
  }
  require_finite(arrays.x);
  require_targets(data, arrays.y);
  return {count,
          {std::vector<float>(arrays.x.begin(), arrays.x.end()), data.D_in, 1},
          {std::vector<float>(arrays.y.begin(), arrays.y.end()), y_cols, 1}};
}

}  // namespace

DataSet data_of_arrays(const ArrayShape& shape, const Arrays& train, const Arrays& test,
                       const Arrays& valid) {
  const auto output = parse_output(shape.output);
  require(output && row_of(*output).family == *output,
          fmt::format("output '{}' is not known", shape.output));
  require(
      shape.inputs >= 0 && shape.outputs >= 1,
      fmt::format("inputs of {} and targets of {} numbers cannot be", shape.inputs, shape.outputs));
  DataSet data;
  data.name = "own data";
  data.D_in = shape.inputs;
  data.D_out = shape.outputs;
  data.output = *output;
  data.train = copy(data, train);
  data.valid = copy(data, valid);
  data.test = copy(data, test);
  if (data.train.count == 0) throw DataError("there is no example to train on");
  const auto standardize = from_string<Standardize>(shape.standardize);
  require(standardize.has_value(),
          fmt::format("standardize '{}' is not known: use none, x, y or both", shape.standardize));
  data.units = units_of(data, *standardize, shape.center);
  return data;
}

}  // namespace sfnn
