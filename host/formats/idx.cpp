#include "host/formats/idx.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <fstream>
#include <limits>
#include <utility>

#include "host/base/error.hpp"
#include "host/formats/byte_reader.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxRank = 8;  // the format allows 255; nobody has data with more than this
constexpr std::int64_t kMaxDim = std::numeric_limits<std::int32_t>::max();  // signed in the format

IdxType type_of(std::uint8_t code, const ByteReader& in) {
  switch (const auto type = IdxType(code)) {
    case IdxType::uint8:
    case IdxType::int8:
    case IdxType::int16:
    case IdxType::int32:
    case IdxType::float32:
    case IdxType::float64:
      return type;
  }
  in.fail(fmt::format(
      "IDX type 0x{:02x} is not one of the format's: 0x08, 0x09, 0x0b, 0x0c, 0x0d, 0x0e", code));
}

std::size_t bytes_of(IdxType type) {
  switch (type) {
    case IdxType::uint8:
    case IdxType::int8:
      return 1;
    case IdxType::int16:
      return 2;
    case IdxType::int32:
    case IdxType::float32:
      return 4;
    case IdxType::float64:
      return 8;
  }
  return 1;
}

static_assert(std::endian::native == std::endian::little, "the bytes of each value are reversed");

template <class T>
T big_endian(const std::uint8_t* bytes) {
  std::array<std::uint8_t, sizeof(T)> turned{};
  std::reverse_copy(bytes, bytes + sizeof(T), turned.begin());
  return std::bit_cast<T>(turned);
}

template <class Stored, class To>
std::vector<To> decoded(const IdxArray& array) {
  std::vector<To> result(array.values.size() / sizeof(Stored));
  for (std::size_t n = 0; n < result.size(); ++n)
    result[n] = To(big_endian<Stored>(&array.values[n * sizeof(Stored)]));
  return result;
}

std::vector<std::int64_t> read_dims(ByteReader& in, std::size_t rank) {
  const std::vector<std::uint8_t> bytes = in.read_up_to(4 * rank);
  if (bytes.size() < 4 * rank) in.fail("ends inside its IDX header: is the file truncated?");
  std::vector<std::int64_t> dims;
  for (std::size_t d = 0; d < rank; ++d) {
    dims.push_back(big_endian<std::uint32_t>(&bytes[4 * d]));
    if (dims.back() == 0) in.fail(fmt::format("dimension {} of {} is zero", d + 1, rank));
    if (dims.back() > kMaxDim)
      in.fail(fmt::format("dimension {} of {} is {}, and at most 2^31 - 1 is allowed", d + 1, rank,
                          dims.back()));
  }
  return dims;
}

// Division instead of a product: 255 dimensions of 2^32 - 1 overflow any integer.
std::uint64_t values_size(const ByteReader& in, const IdxArray& array) {
  std::uint64_t size = bytes_of(array.type);
  for (const std::int64_t dim : array.dims) {
    if (size > in.ceiling() / std::uint64_t(dim))
      in.fail(fmt::format("the header promises {} values, more than {}",
                          fmt::join(array.dims, " x "),
                          in.ceiling() == kMaxUnpacked
                              ? "1 GiB of a gzip file: unpack it with gunzip if it is to be trusted"
                              : "the file can hold: is it truncated?"));
    size *= std::uint64_t(dim);
  }
  return size;
}

// Type and dimensions, as stored; the values come next.
IdxArray read_header(ByteReader& in, std::size_t rank) {
  std::array<std::uint8_t, 4> magic{};
  if (in.read(magic) < magic.size()) in.fail("is too short for an IDX file");
  if (magic[0] != 0 || magic[1] != 0)
    in.fail(fmt::format("is not an IDX file: it begins with {:02x} {:02x} instead of 00 00",
                        magic[0], magic[1]));
  IdxArray array;
  array.type = type_of(magic[2], in);
  if (rank != kAnyRank && magic[3] != rank)
    in.fail(fmt::format("has {} dimensions, and {} are needed", int(magic[3]), rank));
  if (magic[3] == 0) in.fail("has no dimensions");
  if (magic[3] > kMaxRank)
    in.fail(fmt::format("has {} dimensions, and at most {} are read", int(magic[3]), kMaxRank));
  array.dims = read_dims(in, magic[3]);
  return array;
}

void fill(ByteReader& in, IdxArray& array) {
  const std::uint64_t size = values_size(in, array);
  array.values = in.read_up_to(size);
  if (array.values.size() < size)
    in.fail(fmt::format("ends after {} of its {} bytes of values: is the file truncated?",
                        array.values.size(), size));
  std::array<std::uint8_t, 1> beyond{};
  if (in.read(beyond) != 0)
    in.fail(fmt::format("continues after the {} values that its header promises",
                        fmt::join(array.dims, " x ")));
}

std::ifstream opened(const fs::path& path) {
  if (!fs::is_regular_file(path)) throw DataError(path.string() + ": is not a file");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw DataError(path.string() + ": cannot be opened: check its permissions");
  return in;
}

NumberType number_type(IdxType type) {
  switch (type) {
    case IdxType::uint8:
      return NumberType::u8;
    case IdxType::int8:
      return NumberType::i8;
    case IdxType::int16:
      return NumberType::i16;
    case IdxType::int32:
      return NumberType::i32;
    case IdxType::float32:
      return NumberType::f32;
    case IdxType::float64:
      return NumberType::f64;
  }
  return NumberType::u8;
}

}  // namespace

IdxArray parse_idx(std::istream& stream, const std::string& name, std::size_t rank) {
  ByteReader in(stream, name);
  IdxArray array = read_header(in, rank);
  fill(in, array);
  return array;
}

IdxArray read_idx(const fs::path& path, std::size_t rank) {
  std::ifstream in = opened(path);
  return parse_idx(in, path.string(), rank);
}

bool is_idx(std::string_view first_bytes) {
  return first_bytes.starts_with(std::string_view("\0\0", 2)) ||
         first_bytes.starts_with("\x1f\x8b");
}

ArrayFile open_idx(const fs::path& path) {
  std::ifstream stream = opened(path);
  ByteReader in(stream, path.string());
  IdxArray array = read_header(in, kAnyRank);
  ArrayHeader header{.type = number_type(array.type), .big_endian = true, .shape = array.dims};
  if (in.is_packed()) {
    fill(in, array);
    return {std::make_shared<MemorySource>(path.string(), std::move(array.values)), header};
  }
  header.offset = 4 + 4 * array.dims.size();
  const std::uint64_t size = header.offset + values_size(in, array);
  if (size > in.ceiling())
    in.fail(
        fmt::format("ends after {} of its {} bytes: is the file truncated?", in.ceiling(), size));
  if (size < in.ceiling())
    in.fail(fmt::format("continues after the {} values that its header promises",
                        fmt::join(array.dims, " x ")));
  return {std::make_shared<FileSource>(path), header};
}

fs::path find_idx(const fs::path& folder, std::initializer_list<std::string_view> stems) {
  std::vector<std::string> tried;
  for (const std::string_view stem : stems)
    for (const std::string_view ending : {"", ".gz"}) {
      const fs::path path = folder / fmt::format("{}{}", stem, ending);
      std::error_code error;
      if (fs::exists(path, error)) return path;
      tried.push_back(path.string());
    }
  throw DataError(
      fmt::format("found none of {}: point --data or SFNN_DATA at the folder that has {} in it",
                  fmt::join(tried, ", "), folder.filename().string()));
}

Images read_images(const fs::path& path) {
  IdxArray array = read_idx(path, 3);
  if (array.type != IdxType::uint8)
    throw DataError(path.string() + ": pixels must be unsigned bytes");
  return {array.dims[0], array.dims[1], array.dims[2], std::move(array.values)};
}

std::vector<std::int32_t> integers(const IdxArray& array) {
  switch (array.type) {
    case IdxType::uint8:
      return decoded<std::uint8_t, std::int32_t>(array);
    case IdxType::int8:
      return decoded<std::int8_t, std::int32_t>(array);
    case IdxType::int16:
      return decoded<std::int16_t, std::int32_t>(array);
    case IdxType::int32:
      return decoded<std::int32_t, std::int32_t>(array);
    default:
      throw DataError("floats are not integers");
  }
}

std::vector<float> floats(const IdxArray& array) {
  if (array.type != IdxType::float32) throw DataError("an array of float32 is needed");
  return decoded<float, float>(array);
}

std::vector<double> doubles(const IdxArray& array) {
  if (array.type != IdxType::float64) throw DataError("an array of float64 is needed");
  return decoded<double, double>(array);
}

std::vector<std::int32_t> read_ids(const fs::path& path, std::int64_t count) {
  const IdxArray array = read_idx(path, 1);
  if (array.type == IdxType::float32 || array.type == IdxType::float64)
    throw DataError(path.string() + ": labels must be integers");
  if (array.count() != count)
    throw DataError(
        fmt::format("{}: {} labels do not match {} images", path.string(), array.count(), count));
  return integers(array);
}

}  // namespace sfnn
