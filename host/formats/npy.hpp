// NumPy's .npy files: six magic bytes, a version, a header that is a Python dictionary, the values.
// Reads arrays of plain numbers written by np.save; np.load reads what is written here.
//
// Versions 1.0 and 2.0, row-major, every numeric type of either byte order. A damaged or lying file
// gives a DataError of one sentence that names it. Whatever its header says, opening one takes at
// most 256 KiB: the values stay in the file. parse_npy takes the values' size beside that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "host/formats/array_file.hpp"

namespace sfnn {

bool is_npy(std::string_view first_bytes);
ArrayFile open_npy(const SharedSource&);
ArrayFile open_npy(const SharedSource&, std::uint64_t first, std::uint64_t size);  // a part of it
ArrayFile open_npy(const std::filesystem::path&);
// From a file's first bytes, `size` in all; `name` is what errors call it.
ArrayHeader parse_npy_header(std::string_view first_bytes, std::uint64_t size,
                             std::string_view name);

// An array in memory, of a type that is written here.
struct NpyArray {
  std::vector<std::int64_t>
      shape;  // empty: a single number; no product of its dimensions overflows
  std::variant<std::vector<std::uint8_t>, std::vector<std::int32_t>, std::vector<std::int64_t>,
               std::vector<float>, std::vector<double>>
      values;  // as many as the shape says, the last dimension fastest

  friend bool operator==(const NpyArray&, const NpyArray&) = default;
};

// From any bytes; bool is read as uint8. `name` is what errors call them.
NpyArray parse_npy(std::span<const std::byte> bytes, std::string_view name);
std::string serialize_npy(const NpyArray&);  // version 1.0; throws Error if the shape does not fit

NpyArray read_npy(const std::filesystem::path&);
void write_npy(const std::filesystem::path&, const NpyArray&);  // atomically

}  // namespace sfnn
