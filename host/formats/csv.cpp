#include "host/formats/csv.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>

#include "host/base/error.hpp"
#include "host/base/utf8.hpp"

namespace sfnn {
namespace {

constexpr std::size_t kChunk = 64 * 1024, kMaxLine = std::size_t(1) << 24;
constexpr std::size_t kMostColumns = 1 << 16;
constexpr double kLargestWhole = 0x1p53;

// The lines of a source, one after another, without their ends.
class Lines {
 public:
  explicit Lines(const ByteSource& source) : source_(source) {}

  // False: there are no more. The view is good until the next call.
  bool next(std::string_view& line) {
    std::size_t end = 0;
    while ((end = rest_.find('\n')) == std::string_view::npos && read_ < source_.size()) fill();
    if (rest_.empty()) return false;
    line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return true;
  }

 private:
  void fill() {
    if (rest_.size() > kMaxLine)
      source_.fail(fmt::format("has a line of more than {} bytes", kMaxLine));
    buffer_.erase(0, buffer_.size() - rest_.size());
    const std::size_t have = buffer_.size();
    const auto more = std::size_t(std::min<std::uint64_t>(kChunk, source_.size() - read_));
    buffer_.resize(have + more);
    source_.read(read_, std::as_writable_bytes(std::span(buffer_).subspan(have)));
    read_ += more;
    rest_ = buffer_;
  }

  const ByteSource& source_;
  std::uint64_t read_ = 0;
  std::string buffer_;
  std::string_view rest_;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

char separator_of(std::string_view line) {
  for (const char mark : {'\t', ';'})
    if (line.find(mark) != std::string_view::npos) return mark;
  return ',';
}

// Calls cell(text) for each, without the quotes around it.
template <class Cell>
void for_each_cell(std::string_view line, char separator, const Cell& cell) {
  for (bool more = true; more;) {
    const std::string_view start = line.substr(std::min(line.size(), line.find_first_not_of(' ')));
    std::size_t end = 0;
    if (start.starts_with('"') && start.find('"', 1) != std::string_view::npos) {
      const std::size_t close = start.find('"', 1);
      cell(start.substr(1, close - 1));
      line = start.substr(close + 1);
      end = line.find(separator);
    } else {
      end = line.find(separator);
      cell(trimmed(line.substr(0, end)));
    }
    more = end != std::string_view::npos;
    if (more) line.remove_prefix(end + 1);
  }
}

std::optional<double> number_in(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

class Parser {
 public:
  explicit Parser(const ByteSource& source) : source_(source) { table_.file = source.name(); }

  CsvTable parse() {
    Lines lines(source_);
    for (std::string_view line; lines.next(line); ++line_) {
      if (line_ == 1) {
        if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
        begin(line);
      } else if (!trimmed(line).empty()) {
        add_row(line);
      }
    }
    if (table_.values.empty()) source_.fail("holds no line of numbers");
    return std::move(table_);
  }

 private:
  void begin(std::string_view line) {
    separator_ = separator_of(line);
    bool numbers = true;
    std::vector<std::string> names;
    for_each_cell(line, separator_, [&](std::string_view cell) {
      numbers = numbers && number_in(cell);
      names.emplace_back(cell);
      if (names.size() > kMostColumns)
        source_.fail(fmt::format("has more than {} columns", kMostColumns));
    });
    if (numbers)
      for (std::size_t c = 0; c < names.size(); ++c) names[c] = fmt::format("{}", c);
    table_.names = std::move(names);
    reserve(line.size());
    if (numbers) add_row(line);
  }

  // Lines are about as long as the first; a guess, and never more than two bytes per number allow.
  void reserve(std::size_t first_line) {
    const std::uint64_t lines = source_.size() / (first_line + 1) + 1;
    table_.values.reserve(
        std::size_t(std::min(lines * table_.names.size(), source_.size() / 2 + 1)));
  }

  void add_row(std::string_view line) {
    std::size_t column = 0;
    for_each_cell(line, separator_, [&](std::string_view cell) {
      if (column < table_.names.size()) table_.values.push_back(number(cell, column));
      ++column;
    });
    if (column != table_.names.size())
      source_.fail(fmt::format("line {} has {} numbers, and the first line has {}", line_, column,
                               table_.names.size()));
  }

  double number(std::string_view cell, std::size_t column) const {
    if (const auto value = number_in(cell)) return *value;
    const std::string place = fmt::format("line {}, column {}", line_, shown(table_.names[column]));
    if (cell.empty()) source_.fail(fmt::format("{} is empty: fill it, or drop the line", place));
    source_.fail(
        fmt::format("{} holds {}, which is no number: leave the column out, or number its "
                    "values from 0",
                    place, shown(cell)));
  }

  static std::string shown(std::string_view text) {
    const std::string word(text.substr(0, 40));
    return is_printable_utf8(word) ? "'" + word + "'" : "a text";
  }

  const ByteSource& source_;
  CsvTable table_;
  char separator_ = ',';
  std::int64_t line_ = 1;
};

bool is_whole(double value) {
  return value == std::floor(value) && std::abs(value) <= kLargestWhole;
}

}  // namespace

std::int64_t CsvTable::column(const std::string& name) const {
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return found - names.begin();
  std::vector<std::string> known;
  for (std::size_t c = 0; c < names.size() && c < 20; ++c)
    known.push_back(is_printable_utf8(names[c]) ? names[c].substr(0, 40) : "?");
  throw DataError(fmt::format("{}: has no column {}, but {}", file, name, fmt::join(known, ", ")));
}

CsvTable parse_csv(const ByteSource& source) { return Parser(source).parse(); }

ArrayFile array_of(const CsvTable& table, std::span<const std::int64_t> columns) {
  std::vector<std::uint8_t> bytes(std::size_t(table.rows()) * columns.size() * sizeof(double));
  const auto for_each_value = [&](const auto& look) {
    std::size_t at = 0;
    for (std::int64_t row = 0; row < table.rows(); ++row)
      for (const std::int64_t column : columns)
        look(table.values[std::size_t(row * table.cols() + column)], at++);
  };
  bool whole = true;
  for_each_value([&](double value, std::size_t) { whole = whole && is_whole(value); });
  for_each_value([&](double value, std::size_t at) {
    const auto integer = whole ? std::int64_t(value) : 0;
    const void* from = whole ? static_cast<const void*>(&integer) : &value;
    std::memcpy(bytes.data() + at * sizeof(double), from, sizeof(double));
  });
  return {std::make_shared<MemorySource>(table.file, std::move(bytes)),
          {.type = whole ? NumberType::i64 : NumberType::f64,
           .shape = {table.rows(), std::int64_t(columns.size())}}};
}

ArrayFile open_csv(const std::filesystem::path& path) {
  const CsvTable table = parse_csv(FileSource(path));
  std::vector<std::int64_t> all(table.names.size());
  std::iota(all.begin(), all.end(), 0);
  return array_of(table, all);
}

}  // namespace sfnn
