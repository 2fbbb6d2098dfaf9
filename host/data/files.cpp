#include "host/data/files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <sstream>
#include <utility>

#include "host/base/error.hpp"
#include "host/data/search_path.hpp"
#include "host/data/split.hpp"
#include "host/data/targets.hpp"
#include "host/formats/csv.hpp"
#include "host/formats/data_formats.hpp"
#include "host/formats/npz.hpp"
#include "kernels/output.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;
using Rows = std::span<const std::int32_t>;
using Table = std::shared_ptr<const ArrayFile>;

constexpr std::int64_t kMaxClasses = std::int64_t(1)
                                     << 24;  // the largest whole numbers that a float holds exactly

Table checked(ArrayFile file) {
  auto table = std::make_shared<const ArrayFile>(std::move(file));
  if (table->shape().empty()) table->fail("is a single number: an array [examples, ...] is needed");
  if (table->rows() == 0 || table->cols() == 0)
    table->fail(fmt::format("is empty: its shape is [{}]", fmt::join(table->shape(), ", ")));
  return table;
}

Table open_table(const fs::path& path) { return checked(open_array(path)); }

bool has_inputs(const DataOptions& options) {
  const bool named = !options.train_x.empty() || !options.test_x.empty();
  if (named && options.task == Task::generate)
    throw ConfigError("data.task = generate has no inputs: leave out data.train_x and data.test_x");
  return named;
}

// Of an archive, the array that is named or else the one that is called like the key.
Table open_table(const DataOptions& options, const char* key, const std::string& name) {
  if (name.empty()) throw ConfigError(fmt::format("data.set = files needs data.{}", key));
  const auto [file, member] = split_member(name);
  const fs::path path = find_data(options.root, file);
  if (path.extension() != ".npz") return open_table(path);
  return checked(open_npz(path, member.empty() ? key : member));
}

// x and y of one CSV file: the columns that data.target names are y, the others x.
std::pair<Table, Table> open_csv_tables(const DataOptions& options, const char* key,
                                        const std::string& name) {
  if (name.empty()) throw ConfigError(fmt::format("data.target needs data.{}", key));
  const CsvTable csv = parse_csv(FileSource(find_data(options.root, name)));
  std::vector<std::int64_t> x, y;
  std::istringstream names(options.target);
  for (std::string target; std::getline(names, target, ',');)
    y.push_back(csv.column(target.substr(std::min(target.size(), target.find_first_not_of(' ')))));
  for (std::int64_t column = 0; column < csv.cols(); ++column)
    if (std::ranges::find(y, column) == y.end()) x.push_back(column);
  if (x.empty()) throw DataError(fmt::format("{}: data.target leaves no column for x", csv.file));
  return {checked(array_of(csv, x)), checked(array_of(csv, y))};
}

// --- shapes ------------------------------------------------------------------------------------

void check_rows(const ArrayFile& x, const ArrayFile& y) {
  if (x.rows() != y.rows())
    y.fail(fmt::format("{} rows do not match the {} of {}", y.rows(), x.rows(), x.name()));
}

void check_same_shape(const ArrayFile& train, const ArrayFile& test) {
  const auto tail = [](const ArrayFile& t) { return std::span(t.shape()).subspan(1); };
  if (!std::ranges::equal(tail(train), tail(test)))
    test.fail(fmt::format("its shape is [{}], but [{}] in {}", fmt::join(test.shape(), ", "),
                          fmt::join(train.shape(), ", "), train.name()));
  if (train.holds_bytes() != test.holds_bytes())
    test.fail(fmt::format("its numbers are {}, and those of {} are {}", to_string(test.type()),
                          train.name(), to_string(train.type())));
}

// [count, height, width], or that with three colours.
ImageShape picture(const ArrayFile& table) {
  const auto& shape = table.shape();
  if (shape.size() == 3) return {shape[1], shape[2]};
  if (shape.size() == 4 && shape[3] == 3) return {shape[1], shape[2], 3};
  return {};
}

// --- values ------------------------------------------------------------------------------------

// What one pass over rows finds out.
struct Facts {
  std::uint8_t largest = 0;  // byte; 0: the numbers are no bytes
  std::uint32_t crc = 0;
};

// Which numbers a pass accepts.
struct Looking {
  std::string part;  // "train_x"
  const ArrayFile& table;
  Rows rows;  // of the table, that the columns hold
  std::optional<Output> target;
  std::int64_t D_out = 0;
};

std::string place(const Looking& looking, const Columns& columns, std::int64_t index) {
  return fmt::format("example {}, value {}", looking.rows[std::size_t(index / columns.cols)],
                     index % columns.cols);
}

void require_good(const Looking& looking, const Columns& columns, float value, std::int64_t index) {
  if (!std::isfinite(value))
    looking.table.fail(fmt::format("{} is not a finite number", place(looking, columns, index)));
  if (looking.target && !is_target(*looking.target, looking.D_out, value))
    looking.table.fail(fmt::format(
        "{} is {}, and {} is needed for {} targets", place(looking, columns, index), value,
        wanted_target(*looking.target, looking.D_out), to_string(*looking.target)));
}

// Reads the columns once. Bytes are good for any target.
Facts look_over(const Columns& columns, const Looking& looking) {
  Facts facts;
  for_each_chunk(columns, [&](std::int64_t first, std::span<const std::byte> chunk) {
    facts.crc = std::uint32_t(
        crc32(facts.crc, reinterpret_cast<const Bytef*>(chunk.data()), uInt(chunk.size())));
    if (columns.holds_bytes()) {
      const std::span bytes(reinterpret_cast<const std::uint8_t*>(chunk.data()), chunk.size());
      facts.largest = std::max(facts.largest, *std::max_element(bytes.begin(), bytes.end()));
      return;
    }
    const std::span floats(reinterpret_cast<const float*>(chunk.data()),
                           chunk.size() / sizeof(float));
    for (std::size_t i = 0; i < floats.size(); ++i)
      require_good(looking, columns, floats[i], first * columns.cols + std::int64_t(i));
  });
  return facts;
}

// The same, unless the file is known and unchanged, and notes what was found.
Facts look_over(const Columns& columns, const Looking& looking, const DataOptions& options,
                DataSet& data) {
  const ByteSource& source = looking.table.source();
  FileFacts now{.part = looking.part,
                .size = source.size(),
                .changed = source.changed(),
                .rows = std::int64_t(looking.rows.size())};
  const auto known = std::ranges::find_if(
      options.known, [&](const FileFacts& facts) { return facts.same_file(now); });
  Facts facts;
  if (known != options.known.end() && columns.in_file() && now.changed != 0) {
    facts = {.largest = known->largest, .crc = known->crc};
  } else {
    facts = look_over(columns, looking);
  }
  now.largest = facts.largest;
  now.crc = facts.crc;
  data.files.push_back(std::move(now));
  return facts;
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
void warn_of_dark_bytes(const ArrayFile& train, const Facts& facts, BytesAre said,
                        std::vector<std::string>& warnings) {
  constexpr std::uint8_t kDark = 100;
  if (said != BytesAre::automatic || facts.largest <= 1 || facts.largest > kDark) return;
  warnings.push_back(
      fmt::format("{}: its bytes are divided by 255, but none is above {}: if they are numbers and "
                  "not grey values, say data.bytes = number, else grey",
                  train.name(), facts.largest));
}

// --- classes -----------------------------------------------------------------------------------

// Calls look(example, label) for all of them; all are whole numbers from 0.
template <class Look>
void for_each_label(const ArrayFile& table, Rows rows, const Look& look) {
  if (table.cols() != 1)
    table.fail(
        fmt::format("has {} numbers per example, and softmax needs one: the class", table.cols()));
  if (is_float(table.type()))
    table.fail("holds floats, and classes are whole numbers: store it as int64");
  const Columns labels = in_memory(table, rows);
  for (std::int64_t n = 0; n < labels.rows(); ++n) {
    const auto label = std::int64_t(labels.at(n, 0));
    if (label < 0 || label >= kMaxClasses)
      table.fail(fmt::format("label {} of example {} is not in 0 .. {}", label,
                             rows[std::size_t(n)], kMaxClasses - 1));
    look(rows[std::size_t(n)], label);
  }
}

std::int64_t count_classes(const ArrayFile& table) {
  std::int64_t largest = 0;
  for_each_label(table, all_rows(table.rows()),
                 [&](std::int64_t, std::int64_t label) { largest = std::max(largest, label); });
  return largest + 1;
}

void check_labels(const ArrayFile& table, Rows rows, std::int64_t classes, const std::string& of) {
  for_each_label(table, rows, [&](std::int64_t, std::int64_t label) {
    if (label >= classes) table.fail(fmt::format("label {} does not occur in {}", label, of));
  });
}

// --- loading -----------------------------------------------------------------------------------

// One part of the data: which rows of which files.
struct Part {
  Table x, y;  // x may be null: there are no inputs
  std::vector<std::int32_t> rows;

  std::size_t bytes() const { return rows.size() * ((x ? x->row_bytes() : 0) + y->row_bytes()); }
};

Columns columns_of(const Table& table, Rows rows, bool held) {
  if (held) return in_memory(*table, rows);
  return {FileRows{table, {rows.begin(), rows.end()}}, table->cols()};
}

Examples examples_of(const Part& part, bool held) {
  return {std::int64_t(part.rows.size()), part.x ? columns_of(part.x, part.rows, held) : Columns(),
          columns_of(part.y, part.rows, held)};
}

// The test's inputs and targets, whose scales are known.
void add_test(const DataOptions& options, const Part& part, bool held, DataSet& data) {
  const bool classes = row_of(options.output).class_target;
  data.test = examples_of(part, held);
  if (part.x) {
    const Facts x = look_over(data.test.x, {"test_x", *part.x, part.rows}, options, data);
    data.test.x.scale = part.x->holds_bytes() ? scale_of(data.x_bytes, x.largest) : 1.0f;
  }
  if (classes) return;
  const Facts y = look_over(data.test.y, {"test_y", *part.y, part.rows, options.output, data.D_out},
                            options, data);
  data.test.y.scale = part.y->holds_bytes() ? scale_of(data.y_bytes, y.largest) : 1.0f;
}

// The files of data.train_x and data.train_y, or of the test's.
Part open_part(const DataOptions& options, const char* x_key, const std::string& x,
               const char* y_key, const std::string& y) {
  if (!options.target.empty()) {
    if (!y.empty())
      throw ConfigError(
          fmt::format("data.target names y in data.{}: leave out data.{}", x_key, y_key));
    const auto [x_table, y_table] = open_csv_tables(options, x_key, x);
    return {x_table, y_table, {}};
  }
  Part part{has_inputs(options) ? open_table(options, x_key, x) : nullptr,
            open_table(options, y_key, y),
            {}};
  if (part.x) check_rows(*part.x, *part.y);
  return part;
}

Part open_test(const DataOptions& options) {
  Part part = open_part(options, "test_x", options.test_x, "test_y", options.test_y);
  part.rows = all_rows(limited(part.y->rows(), options.test_limit));
  return part;
}

std::string name_of(const DataOptions& options) {
  const std::string y =
      options.target.empty() ? fs::path(options.train_y).filename().string() : options.target;
  if (!has_inputs(options)) return y + " generated";
  return fs::path(options.train_x).filename().string() + " to " + y;
}

void describe(const Part& part, DataSet& data) {
  data.D_in = part.x ? part.x->cols() : 0;
  if (part.x) data.x_image = picture(*part.x);
  if (!row_of(data.output).class_target) data.y_image = picture(*part.y);
}

// Looks over the training and validation examples of x or of y, and decides how bytes are read.
Facts add_side(Columns Examples::*side, Looking looking, Rows valid_rows,
               const DataOptions& options, BytesAre said, DataSet& data, ByteEncoding& bytes) {
  Columns &train = data.train.*side, &valid = data.valid.*side;
  Facts facts = look_over(train, looking, options, data);
  looking.part.replace(0, 5, "valid");
  looking.rows = valid_rows;
  facts.largest = std::max(facts.largest, look_over(valid, looking, options, data).largest);
  bytes = train.holds_bytes() ? encoding_of(said, facts.largest) : ByteEncoding::numbers;
  train.scale = valid.scale = scale_of(bytes, 255);
  return facts;
}

void add_train(const DataOptions& options, const Part& train, const Part& valid, bool held,
               DataSet& data) {
  data.train = examples_of(train, held);
  data.valid = examples_of(valid, held);
  if (train.x) {
    const Looking looking{"train_x", *train.x, train.rows};
    const Facts x =
        add_side(&Examples::x, looking, valid.rows, options, options.bytes, data, data.x_bytes);
    warn_of_dark_bytes(*train.x, x, options.bytes, data.warnings);
  }
  if (row_of(options.output).class_target) return;
  const bool fractions = are_fractions(options.output);
  const BytesAre said = target_bytes(options.output, options.bytes);
  const Looking looking{"train_y", *train.y, train.rows, options.output, data.D_out};
  const Facts y = add_side(&Examples::y, looking, valid.rows, options, said, data, data.y_bytes);
  if (!fractions) warn_of_dark_bytes(*train.y, y, said, data.warnings);
}

}  // namespace

DataSet load_files(const DataOptions& options) {
  Part train = open_part(options, "train_x", options.train_x, "train_y", options.train_y);
  const Part test = open_test(options);
  if (train.x) check_same_shape(*train.x, *test.x);
  check_same_shape(*train.y, *test.y);
  Split split = split_rows(train.y->rows(), options);
  const Part valid{train.x, train.y, std::move(split.valid)};
  train.rows = std::move(split.train);

  DataSet data{.name = name_of(options), .output = options.output};
  describe(train, data);
  data.D_out = train.y->cols();
  if (row_of(options.output).class_target) {
    data.D_out = count_classes(*train.y);
    check_labels(*test.y, test.rows, data.D_out, train.y->name());
  }
  const bool held = train.bytes() + valid.bytes() + test.bytes() <= options.most_in_memory;
  add_train(options, train, valid, held, data);
  add_test(options, test, held, data);
  return data;
}

DataSet load_test_files(const DataOptions& options, const TrainedOn& trained) {
  const Part test = open_test(options);
  DataSet data{.name = name_of(options),
               .D_out = test.y->cols(),
               .output = options.output,
               .x_bytes = trained.x_bytes};
  describe(test, data);
  if (row_of(options.output).class_target) {
    data.D_out = trained.D_out;
    check_labels(*test.y, test.rows, data.D_out, "the network's training data");
  }
  // A checkpoint from before has no word about bytes of targets: these decide themselves.
  data.y_bytes = trained.y_bytes.value_or(ByteEncoding::pixels);
  add_test(options, test, test.bytes() <= options.most_in_memory, data);
  return data;
}

ReadInputs read_inputs(const fs::path& path, std::int64_t D_in, ByteEncoding bytes) {
  const Table table = open_table(path);
  if (table->cols() != D_in)
    table->fail(fmt::format(
        "has {} numbers per example, and the network reads {}: an array [n, {}] is needed",
        table->cols(), D_in, D_in));
  if (table->rows() > std::numeric_limits<std::int32_t>::max())
    table->fail("has more than 2^31 - 1 examples");
  const auto rows = all_rows(table->rows());
  ReadInputs inputs{.x = columns_of(table, rows, /*held=*/false)};
  const Facts facts = look_over(inputs.x, {"inputs", *table, rows});
  if (!table->holds_bytes()) return inputs;
  if (bytes == ByteEncoding::bits && facts.largest > 1)
    table->fail(
        "holds bytes above 1, and the network was trained on bits: say --set data.bytes=grey to "
        "divide them by 255");
  if (bytes == ByteEncoding::grey && facts.largest == 1)
    inputs.warning = fmt::format(
        "{}: no byte is above 1, and the network was trained on grey bytes: they are divided by "
        "255; if they are bits, say --set data.bytes=number",
        table->name());
  inputs.x.scale = scale_of(bytes, facts.largest);
  return inputs;
}

}  // namespace sfnn
