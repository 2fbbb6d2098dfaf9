// The formats that data come in, one row each. A newcomer is a row and a parser; the tests are red
// until it has a fuzz target with a corpus, a file that tries its memory bound, and a peer that
// writes it (tests/formats/data_formats_test.cpp).
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "host/formats/array_file.hpp"

namespace sfnn {

struct DataFormat {
  std::string_view name;    // of its fuzz target and corpus, too
  std::string_view ending;  // of a file's name, for files that are not recognised; may be empty
  bool (*is)(std::string_view first_bytes);
  ArrayFile (*open)(const std::filesystem::path&);  // throws DataError
};

std::span<const DataFormat> data_formats();

// By the first bytes or, if no format knows them, by the name. Throws DataError: what is wrong with
// the file or, if it is of no format at all, what to type instead. A folder holds pictures.
ArrayFile open_array(const std::filesystem::path&);

}  // namespace sfnn
