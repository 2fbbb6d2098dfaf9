// Rows of numbers, of x or of y: in memory, or in a file that is read as rows are asked for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "host/formats/array_file.hpp"

namespace sfnn {

// Row n is row rows[n] of the file.
struct FileRows {
  std::shared_ptr<const ArrayFile> file;
  std::vector<std::int32_t> rows;  // ascending

  bool operator==(const FileRows&) const = default;
};

// Memory of somebody else's, which is not copied.
template <class T>
struct Borrowed {
  std::span<const T> values;
  std::shared_ptr<const void> owner;  // keeps it; null: it outlives whoever looks at it

  auto begin() const { return values.begin(); }
  auto end() const { return values.end(); }
  const T* data() const { return values.data(); }
  std::size_t size() const { return values.size(); }
  friend bool operator==(const Borrowed& a, const Borrowed& b) {
    return std::ranges::equal(a.values, b.values);
  }
};

// Bytes (grey: scale 1/255; bits and classes: scale 1) or floats. Row-major.
struct Columns {
  std::variant<std::vector<std::uint8_t>, std::vector<float>, FileRows, Borrowed<std::uint8_t>,
               Borrowed<float>>
      values;
  std::int64_t cols = 0;
  float scale = 1;  // value = stored * scale

  std::int64_t rows() const;
  bool holds_bytes() const;
  std::size_t row_bytes() const {  // as stored
    return std::size_t(cols) * (holds_bytes() ? 1 : sizeof(float));
  }
  // In memory, as stored; empty if a file has them.
  std::span<const std::byte> memory() const;
  const FileRows* file_rows() const { return std::get_if<FileRows>(&values); }
  bool in_file() const { return file_rows() != nullptr; }

  float at(std::int64_t row, std::int64_t col) const;
  std::vector<float> row(std::int64_t row) const;
  std::vector<float> mean() const;  // [cols]
};

// Packs rows order[first], order[first + 1], ... one after another, as stored; order null: rows
// first, first + 1, ... Throws DataError if a file was cut.
void read_rows(const Columns&, const std::int32_t* order, std::int64_t first, std::int64_t count,
               std::byte* to);
// They will be read soon.
void will_need_rows(const Columns&, const std::int32_t* order, std::int64_t first,
                    std::int64_t count);

// Calls look(first row, bytes of as many rows as come at once), as stored, in order.
using LookAtRows = std::function<void(std::int64_t first, std::span<const std::byte> rows)>;
void for_each_chunk(const Columns&, const LookAtRows& look);

// Rows `rows` of a file, in memory.
Columns in_memory(const ArrayFile&, std::span<const std::int32_t> rows);

Columns first_of(const Columns&, std::int64_t count);  // a copy

}  // namespace sfnn
