// NumPy's .npy files: six magic bytes, a version, a header that is a Python dictionary, the values.
// Reads arrays of plain numbers written by np.save; np.load reads what is written here.
//
// Versions 1.0 and 2.0, little-endian, row-major; uint8, int32, int64, float32, float64, and bool
// as uint8. A damaged or lying file gives a DataError of one sentence that names it. Whatever its
// header says, parsing takes no more memory than the file's own size and 256 KiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sfnn {

struct NpyArray {
  std::vector<std::int64_t>
      shape;  // empty: a single number; no product of its dimensions overflows
  std::variant<std::vector<std::uint8_t>, std::vector<std::int32_t>, std::vector<std::int64_t>,
               std::vector<float>, std::vector<double>>
      values;  // as many as the shape says, the last dimension fastest

  friend bool operator==(const NpyArray&, const NpyArray&) = default;
};

// From any bytes; `name` is what errors call them.
NpyArray parse_npy(std::span<const std::byte> bytes, std::string_view name);
std::string serialize_npy(const NpyArray&);  // version 1.0; throws Error if the shape does not fit

NpyArray read_npy(const std::filesystem::path&);
void write_npy(const std::filesystem::path&, const NpyArray&);  // atomically

}  // namespace sfnn
