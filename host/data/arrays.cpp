#include "host/data/arrays.hpp"

#include <fmt/format.h>

#include <cmath>
#include <type_traits>

#include "host/base/error.hpp"
#include "host/data/targets.hpp"

namespace sfnn {
namespace {

std::int64_t size_of(const Numbers& numbers) {
  return std::visit([](const auto& values) { return std::int64_t(values.size()); }, numbers);
}

// Where they lie if there is an owner, else a copy.
Columns columns_of(const Numbers& numbers, std::int64_t cols, bool grey,
                   const std::shared_ptr<const void>& owner) {
  Columns columns{.cols = cols};
  std::visit(
      [&](const auto& values) {
        using T = std::remove_const_t<typename std::remove_cvref_t<decltype(values)>::element_type>;
        if (owner) {
          columns.values = Borrowed<T>{values, owner};
        } else {
          columns.values = std::vector<T>(values.begin(), values.end());
        }
      },
      numbers);
  if (grey && columns.holds_bytes()) columns.scale = kGreyScale;
  return columns;
}

void require_finite(const Columns& x) {
  if (x.holds_bytes()) return;
  const std::span values(reinterpret_cast<const float*>(x.memory().data()),
                         x.memory().size() / sizeof(float));
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i])) throw DataError(fmt::format("input number {} is not finite", i));
}

void require_targets(const DataSet& data, const Examples& examples) {
  const Columns& y = examples.y;
  for (std::int64_t i = 0; i < examples.count * y.cols; ++i) {
    const float value = y.at(i / y.cols, i % y.cols);
    if (is_target(data.output, data.D_out, value)) continue;
    throw DataError(fmt::format("target number {} is {}, and {} is needed", i, value,
                                wanted_target(data.output, data.D_out)));
  }
}

Examples examples_of(const DataSet& data, const ArrayShape& shape, const Arrays& arrays) {
  const std::int64_t y_cols = target_width(data.output, data.D_out);
  const std::int64_t x_size = size_of(arrays.x), y_size = size_of(arrays.y);
  const std::int64_t count = y_size / y_cols;
  if (y_size % y_cols != 0 || x_size != count * data.D_in) {
    throw DataError(
        fmt::format("{} input numbers and {} target numbers are not as many examples of {} and {}",
                    x_size, y_size, data.D_in, y_cols));
  }
  Examples examples{count, columns_of(arrays.x, data.D_in, shape.grey_x, arrays.owner),
                    columns_of(arrays.y, y_cols, shape.grey_y, arrays.owner)};
  require_finite(examples.x);
  require_targets(data, examples);
  return examples;
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
  if (shape.grey_x) data.x_bytes = ByteEncoding::grey;
  if (shape.grey_y) data.y_bytes = ByteEncoding::grey;
  data.train = examples_of(data, shape, train);
  data.valid = examples_of(data, shape, valid);
  data.test = examples_of(data, shape, test);
  if (data.train.count == 0) throw DataError("there is no example to train on");
  const auto standardize = from_string<Standardize>(shape.standardize);
  require(standardize.has_value(),
          fmt::format("standardize '{}' is not known: use none, x, y or both", shape.standardize));
  data.units = units_of(data, *standardize, shape.center);
  return data;
}

}  // namespace sfnn
