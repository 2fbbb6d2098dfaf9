// Tables in text: a line per example, numbers between commas, semicolons or tabs. A first line that
// is not all numbers holds the names of the columns; else they are called 0, 1, ...
//
// Anything else gives a DataError that names line and column. Reading takes at most 16 times the
// file's size and 1 MiB, and 64 bytes for each column.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "host/formats/array_file.hpp"

namespace sfnn {

struct CsvTable {
  std::string file;                // what errors call it
  std::vector<std::string> names;  // of the columns
  std::vector<double> values;      // [rows, columns]

  std::int64_t cols() const { return std::int64_t(names.size()); }
  std::int64_t rows() const { return names.empty() ? 0 : std::int64_t(values.size()) / cols(); }
  // The column of that name. Throws DataError that lists the names.
  std::int64_t column(const std::string& name) const;
};

CsvTable parse_csv(const ByteSource&);

// These columns, as whole numbers if all of them are.
ArrayFile array_of(const CsvTable&, std::span<const std::int64_t> columns);
ArrayFile open_csv(const std::filesystem::path&);  // all of them

}  // namespace sfnn
