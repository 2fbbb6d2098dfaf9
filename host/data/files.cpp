#include "host/data/files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <span>
#include <type_traits>

#include "host/base/error.hpp"
#include "host/data/search_path.hpp"
#include "host/data/split.hpp"
#include "host/data/targets.hpp"
#include "host/formats/idx.hpp"
#include "host/formats/npy.hpp"
#include "kernels/output.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;
using Rows = std::span<const std::int32_t>;

constexpr std::int64_t kMaxClasses = std::int64_t(1)
                                     << 24;  // the largest whole numbers that a float holds exactly

// A file's numbers, in NumPy's types.
struct Table {
  std::string path;
  NpyArray array;

  std::int64_t rows() const { return array.shape[0]; }
  std::int64_t cols() const {
    std::int64_t cols = 1;
    for (std::size_t d = 1; d < array.shape.size(); ++d) cols *= array.shape[d];
    return cols;
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw DataError(fmt::format("{}: {}", path, why));
  }
};

bool is_npy(const fs::path& path) {
  if (!fs::is_regular_file(path)) return false;  // a pipe would be waited for
  std::array<char, 6> magic{};
  std::ifstream(path, std::ios::binary).read(magic.data(), magic.size());
  return std::string_view(magic.data(), magic.size()) == "\x93NUMPY";
}

NpyArray read_numbers(const fs::path& path) {
  if (is_npy(path) || path.extension() == ".npy") return read_npy(path);
  IdxArray idx = read_idx(path, kAnyRank);
  switch (idx.type) {
    case IdxType::uint8:
      return {idx.dims, std::move(idx.values)};
    case IdxType::float32:
      return {idx.dims, floats(idx)};
    case IdxType::float64:
      return {idx.dims, doubles(idx)};
    default:
      return {idx.dims, integers(idx)};
  }
}

Table read_table(const fs::path& path) {
  Table table{path.string(), read_numbers(path)};
  if (table.array.shape.empty())
    table.fail("is a single number: an array [examples, ...] is needed");
  if (table.rows() == 0 || table.cols() == 0)
    table.fail(fmt::format("is empty: its shape is [{}]", fmt::join(table.array.shape, ", ")));
  return table;
}

Table read_table(const DataOptions& options, const char* key, const std::string& name) {
  if (name.empty()) throw ConfigError(fmt::format("data.set = files needs data.{}", key));
  return read_table(find_data(options.root, name));
}

// --- values ------------------------------------------------------------------------------------

bool has_bytes(const Table& table) {
  return std::holds_alternative<std::vector<std::uint8_t>>(table.array.values);
}

std::uint8_t largest_byte(const Table& table) {
  const auto& bytes = std::get<std::vector<std::uint8_t>>(table.array.values);
  return *std::max_element(bytes.begin(), bytes.end());
}

ByteEncoding encoding_of(const Table& train, BytesAre said) {
  return has_bytes(train) ? encoding_of(said, largest_byte(train)) : ByteEncoding::numbers;
}

// What bytes are in targets, if the user says this of bytes: counts are always numbers, and grey is
// the only fraction that a byte can be.
BytesAre target_bytes(Output output, BytesAre said) {
  switch (output) {
    case Output::bernoulli:
      return BytesAre::automatic;
    case Output::poisson:
      return BytesAre::number;
    case Output::softmax:
    case Output::gaussian:
    case Output::gaussian_learnt:
    case Output::gaussian_each:
    case Output::gaussian_predicted:
      return said;
  }
  return said;
}

// Grey values that never come near white are more likely numbers.
void warn_of_dark_bytes(const Table& train, BytesAre said, std::vector<std::string>& warnings) {
  constexpr std::uint8_t kDark = 100;
  if (said != BytesAre::automatic || !has_bytes(train)) return;
  const std::uint8_t largest = largest_byte(train);
  if (largest <= 1 || largest > kDark) return;
  warnings.push_back(
      fmt::format("{}: its bytes are divided by 255, but none is above {}: if they are numbers and "
                  "not grey values, say data.bytes = number, else grey",
                  train.path, largest));
}

std::string place(const Table& table, std::size_t index) {
  return fmt::format("example {}, value {}", std::int64_t(index) / table.cols(),
                     std::int64_t(index) % table.cols());
}

// Calls check(value, index) for all of them.
template <class Check>
void for_values(const Table& table, float scale, const Check& check) {
  std::visit(
      [&](const auto& values) {
        for (std::size_t i = 0; i < values.size(); ++i) check(float(values[i]) * scale, i);
      },
      table.array.values);
}

void check_finite(const Table& table, float scale) {
  for_values(table, scale, [&](float value, std::size_t i) {
    if (!std::isfinite(value))
      table.fail(fmt::format("{} is not a finite number", place(table, i)));
  });
}

void check_targets(const Table& table, float scale, Output output, std::int64_t D_out) {
  check_finite(table, scale);
  for_values(table, scale, [&](float value, std::size_t i) {
    if (is_target(output, D_out, value)) return;
    table.fail(fmt::format("{} is {}, and {} is needed for {} targets", place(table, i), value,
                           wanted_target(output, D_out), to_string(output)));
  });
}

Columns cut(const Table& table, Rows rows, float scale) {
  const std::int64_t cols = table.cols();
  const auto take = [&](const auto& from, auto to) {
    to.reserve(rows.size() * cols);
    for (const std::int64_t row : rows) {
      const auto begin = from.begin() + row * cols;
      std::transform(begin, begin + cols, std::back_inserter(to),
                     [](auto value) { return typename decltype(to)::value_type(value); });
    }
    return Columns{std::move(to), cols, scale};
  };
  if (has_bytes(table))
    return take(std::get<std::vector<std::uint8_t>>(table.array.values),
                std::vector<std::uint8_t>());
  return std::visit([&](const auto& values) { return take(values, std::vector<float>()); },
                    table.array.values);
}

// --- classes -----------------------------------------------------------------------------------

// The largest label; all are whole numbers from 0.
std::int64_t check_labels(const Table& table) {
  if (table.cols() != 1)
    table.fail(
        fmt::format("has {} numbers per example, and softmax needs one: the class", table.cols()));
  return std::visit(
      [&](const auto& labels) -> std::int64_t {
        using T = typename std::remove_cvref_t<decltype(labels)>::value_type;
        if constexpr (std::is_floating_point_v<T>) {
          table.fail("holds floats, and classes are whole numbers: store it as int64");
        } else {
          std::int64_t largest = 0;
          for (std::size_t n = 0; n < labels.size(); ++n) {
            const auto label = std::int64_t(labels[n]);
            if (label < 0 || label >= kMaxClasses)
              table.fail(fmt::format("label {} of example {} is not in 0 .. {}", label, n,
                                     kMaxClasses - 1));
            largest = std::max(largest, label);
          }
          return largest;
        }
      },
      table.array.values);
}

// --- shapes ------------------------------------------------------------------------------------

void check_rows(const Table& x, const Table& y) {
  if (x.rows() != y.rows())
    y.fail(fmt::format("{} rows do not match the {} of {}", y.rows(), x.rows(), x.path));
}

void check_same_shape(const Table& train, const Table& test) {
  const auto tail = [](const Table& t) { return std::span(t.array.shape).subspan(1); };
  if (!std::ranges::equal(tail(train), tail(test)))
    test.fail(fmt::format("its shape is [{}], but [{}] in {}", fmt::join(test.array.shape, ", "),
                          fmt::join(train.array.shape, ", "), train.path));
  if (has_bytes(train) != has_bytes(test))
    test.fail(fmt::format("its numbers are of another type than those of {}", train.path));
}

ImageShape picture(const Table& table) {
  const auto& shape = table.array.shape;
  return shape.size() == 3 ? ImageShape{shape[1], shape[2]} : ImageShape{};
}

}  // namespace

DataSet load_files(const DataOptions& options) {
  const Output output = options.output;
  const Table train_x = read_table(options, "train_x", options.train_x),
              train_y = read_table(options, "train_y", options.train_y),
              test_x = read_table(options, "test_x", options.test_x),
              test_y = read_table(options, "test_y", options.test_y);
  check_rows(train_x, train_y);
  check_rows(test_x, test_y);
  check_same_shape(train_x, test_x);
  check_same_shape(train_y, test_y);

  DataSet data;
  data.name = fs::path(options.train_x).filename().string() + " to " +
              fs::path(options.train_y).filename().string();
  data.output = output;
  data.D_in = train_x.cols();
  float y_scale = 1;
  if (row_of(output).class_target) {
    data.D_out = check_labels(train_y) + 1;
    if (const std::int64_t largest = check_labels(test_y); largest >= data.D_out)
      test_y.fail(fmt::format("label {} does not occur in {}", largest, train_y.path));
  } else {
    data.D_out = train_y.cols();
    data.y_image = picture(train_y);
    const BytesAre said = target_bytes(output, options.bytes);
    data.y_bytes = encoding_of(train_y, said);
    y_scale = scale_of(data.y_bytes, 255);
    if (!are_fractions(output)) warn_of_dark_bytes(train_y, said, data.warnings);
    for (const Table* y : {&train_y, &test_y}) check_targets(*y, y_scale, output, data.D_out);
  }
  data.x_bytes = encoding_of(train_x, options.bytes);
  warn_of_dark_bytes(train_x, options.bytes, data.warnings);
  const float x_scale = scale_of(data.x_bytes, 255);
  for (const Table* x : {&train_x, &test_x}) check_finite(*x, x_scale);
  data.x_image = picture(train_x);

  const auto examples = [&](const Table& x, const Table& y, Rows rows) {
    return Examples{std::int64_t(rows.size()), cut(x, rows, x_scale), cut(y, rows, y_scale)};
  };
  const Split split = split_rows(train_x.rows(), options);
  data.train = examples(train_x, train_y, split.train);
  data.valid = examples(train_x, train_y, split.valid);
  data.test = examples(test_x, test_y, all_rows(limited(test_x.rows(), options.test_limit)));
  return data;
}

ReadInputs read_inputs(const fs::path& path, std::int64_t D_in, ByteEncoding bytes) {
  const Table table = read_table(path);
  if (table.cols() != D_in)
    table.fail(fmt::format(
        "has {} numbers per example, and the network reads {}: an array [n, {}] is needed",
        table.cols(), D_in, D_in));
  if (table.rows() > std::numeric_limits<std::int32_t>::max())
    table.fail("has more than 2^31 - 1 examples");
  ReadInputs inputs;
  float scale = 1;
  if (has_bytes(table)) {
    const std::uint8_t largest = largest_byte(table);
    if (bytes == ByteEncoding::bits && largest > 1)
      table.fail(
          "holds bytes above 1, and the network was trained on bits: say --set data.bytes=grey to "
          "divide them by 255");
    if (bytes == ByteEncoding::grey && largest == 1)
      inputs.warning = fmt::format(
          "{}: no byte is above 1, and the network was trained on grey bytes: they are divided by "
          "255; if they are bits, say --set data.bytes=number",
          table.path);
    scale = scale_of(bytes, largest);
  }
  check_finite(table, scale);
  inputs.x = cut(table, all_rows(table.rows()), scale);
  return inputs;
}

}  // namespace sfnn
