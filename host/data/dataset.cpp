#include "host/data/dataset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "host/base/error.hpp"
#include "host/data/faces.hpp"
#include "host/data/files.hpp"
#include "host/data/glyphs.hpp"
#include "host/data/mnist.hpp"
#include "host/data/search_path.hpp"

namespace sfnn {

namespace {

void check(const DataOptions& options, Task task) {
  const bool own = options.set == "files";
  if (options.binarize == Binarize::epoch && (options.set == "glyphs" || task != Task::halves)) {
    throw ConfigError(fmt::format(
        "data.binarize = epoch is for halves of grey images; {} {} has nothing to binarise",
        options.set, own && task == Task::automatic ? "files" : to_string(task)));
  }
  if (own && task != Task::automatic) {
    throw ConfigError(fmt::format("data.task = {}: own files say what to predict by data.output",
                                  to_string(task)));
  }
  for (const auto& [key, value] : {std::pair("limit", options.limit),
                                   {"valid", options.valid},
                                   {"test_limit", options.test_limit}})
    if (value < 0) throw ConfigError(fmt::format("data.{} = {}: must not be negative", key, value));
}

DataSet load(const DataOptions& options, Task task) {
  if (options.set == "glyphs") return load_glyphs(options, task);
  if (options.set == "files") return load_files(options);
  switch (task) {
    case Task::halves:
      return load_halves(options);
    case Task::classes:
      return load_classes(options);
    case Task::faces:
      return load_faces(options);
    case Task::automatic:
    case Task::denoise:
      break;
  }
  throw ConfigError(fmt::format("data.task = {}: {} knows halves, classes and faces",
                                to_string(task), options.set));
}

}  // namespace

float Columns::at(std::int64_t row, std::int64_t col) const {
  return scale * std::visit([&](const auto& v) { return float(v[row * cols + col]); }, values);
}

std::vector<float> Columns::mean() const {
  std::vector<double> sum(cols);
  const std::int64_t rows = this->rows();
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t col = 0; col < cols; ++col) sum[col] += at(row, col);
  std::vector<float> mean(cols);
  for (std::int64_t col = 0; col < cols; ++col) mean[col] = float(sum[col] / double(rows));
  return mean;
}

Examples first_of(const Examples& examples, std::int64_t count) {
  count = std::min(count, examples.count);
  const auto rows = [&](const Columns& columns) {
    Columns first{.cols = columns.cols, .scale = columns.scale};
    std::visit(
        [&](const auto& from) {
          first.values = std::remove_cvref_t<decltype(from)>(from.begin(),
                                                             from.begin() + count * columns.cols);
        },
        columns.values);
    return first;
  };
  return {.count = count, .x = rows(examples.x), .y = rows(examples.y)};
}

std::filesystem::path data_folder(const DataOptions& options) {
  return find_data(options.root, options.set);
}

DataSet load_data(const DataOptions& options) {
  if (options.set == kArrays) {
    throw DataError(
        "the examples were arrays of a program, which are not stored with the run: name others "
        "with "
        "data.set = files");
  }
  const Task task = task_of(options);
  check(options, task);
  DataSet data = load(options, task);
  if (options.set != "files")
    data.x_bytes = draws_bits(options) ? ByteEncoding::pixels : ByteEncoding::grey;
  data.units = units_of(data, options.standardize, options.center);
  return data;
}

}  // namespace sfnn
