#include "host/data/dataset.hpp"

#include <fmt/format.h>

#include <algorithm>

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
  const bool draws = task == Task::halves || task == Task::generate;
  if (options.binarize == Binarize::epoch && (own || options.set == "glyphs" || !draws)) {
    throw ConfigError(fmt::format(
        "data.binarize = epoch is for grey images, halves or whole; {} {} has nothing to binarise",
        options.set, own && task == Task::automatic ? "files" : to_string(task)));
  }
  if (own && task != Task::automatic && task != Task::generate) {
    throw ConfigError(fmt::format("data.task = {}: own files say what to predict by data.output",
                                  to_string(task)));
  }
  for (const auto& [key, value] : {std::pair("limit", options.limit),
                                   {"valid", options.valid},
                                   {"test_limit", options.test_limit}})
    if (value < 0) throw ConfigError(fmt::format("data.{} = {}: must not be negative", key, value));
}

// With `trained`, the test examples alone.
DataSet load(const DataOptions& options, Task task, const TrainedOn* trained) {
  if (options.set == "glyphs") return load_glyphs(options, task);
  if (options.set == "files")
    return trained ? load_test_files(options, *trained) : load_files(options);
  switch (task) {
    case Task::halves:
      return load_halves(options, trained != nullptr);
    case Task::classes:
      return load_classes(options, trained != nullptr);
    case Task::generate:
      return load_whole(options, trained != nullptr);
    case Task::faces:
      return load_faces(options);
    case Task::automatic:
    case Task::denoise:
      break;
  }
  throw ConfigError(fmt::format("data.task = {}: {} knows halves, classes, faces and generate",
                                to_string(task), options.set));
}

DataSet loaded(const DataOptions& options, const TrainedOn* trained) {
  if (options.set == kArrays) {
    throw DataError(
        "the examples were arrays of a program, which are not stored with the run: name others "
        "with "
        "data.set = files");
  }
  const Task task = task_of(options);
  check(options, task);
  DataSet data = load(options, task, trained);
  if (options.set != "files")
    data.x_bytes = draws_bits(options) ? ByteEncoding::pixels : ByteEncoding::grey;
  return data;
}

}  // namespace

Examples first_of(const Examples& examples, std::int64_t count) {
  count = std::min(count, examples.count);
  return {.count = count, .x = first_of(examples.x, count), .y = first_of(examples.y, count)};
}

std::filesystem::path data_folder(const DataOptions& options) {
  return find_data(options.root, options.set);
}

DataSet load_data(const DataOptions& options) {
  DataSet data = loaded(options, nullptr);
  data.units = units_of(data, options.standardize, options.center);
  return data;
}

DataSet load_test_data(const DataOptions& options, const TrainedOn& trained) {
  return loaded(options, &trained);
}

}  // namespace sfnn
