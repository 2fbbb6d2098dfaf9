// IDX, the file format of MNIST: two zero bytes, a type byte, the number of dimensions, the
// dimensions as big-endian 32-bit numbers, then the values, the last dimension fastest. Plain or
// gzip.
//
// A damaged or lying file gives a DataError that names it. Whatever its header says, reading takes
// at most 1 MiB and twice the bytes of values, which are no more than a plain file's own size, or
// kMaxUnpacked for gzip; integers() and floats() take four more bytes per value, doubles() eight.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "host/formats/array_file.hpp"

namespace sfnn {

enum class IdxType : std::uint8_t {  // codes of the format
  uint8 = 0x08,
  int8 = 0x09,
  int16 = 0x0B,
  int32 = 0x0C,
  float32 = 0x0D,
  float64 = 0x0E
};

struct IdxArray {
  IdxType type = IdxType::uint8;
  std::vector<std::int64_t> dims;    // each from 1 to 2^31 - 1
  std::vector<std::uint8_t> values;  // as stored: big-endian

  std::int64_t count() const { return dims[0]; }
};

constexpr std::size_t kAnyRank = 0;

bool is_idx(std::string_view first_bytes);  // or gzip
// The values of a plain file stay in it; those of a gzip file are unpacked.
ArrayFile open_idx(const std::filesystem::path&);

// From any bytes; `name` is what errors call them.
IdxArray parse_idx(std::istream&, const std::string& name, std::size_t rank);
IdxArray read_idx(const std::filesystem::path&, std::size_t rank);

// The values of an array of that kind: integers of any size, float32, float64.
std::vector<std::int32_t> integers(const IdxArray&);
std::vector<float> floats(const IdxArray&);
std::vector<double> doubles(const IdxArray&);

// The first of `stems` that exists, as it is or with .gz. Throws a DataError that lists what was
// looked for.
std::filesystem::path find_idx(const std::filesystem::path& folder,
                               std::initializer_list<std::string_view> stems);

struct Images {
  std::int64_t count = 0, height = 0, width = 0;
  std::vector<std::uint8_t> pixels;  // [count, height, width], grey: 0 .. 255

  std::int64_t size() const { return height * width; }
};

Images read_images(const std::filesystem::path&);
// Labels or subject numbers, one for each of `count` images.
std::vector<std::int32_t> read_ids(const std::filesystem::path&, std::int64_t count);

}  // namespace sfnn
