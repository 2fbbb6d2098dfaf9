#include "host/data/idx.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <fstream>
#include <limits>
#include <utility>

#include "host/backend/error.hpp"
#include "host/data/byte_reader.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxRank = 8;  // the format has room for 255, and nobody has data of more than these
constexpr std::int64_t kMaxDim = std::numeric_limits<std::int32_t>::max();  // signed in the format

std::int64_t bytes_of_type(int type, const ByteReader& in) {
  switch (type) {
    case 0x08:
      return 1;  // unsigned
    case 0x0B:
      return 2;  // signed
    case 0x0C:
      return 4;  // signed
    default:
      in.fail(fmt::format("IDX type 0x{:02x} is not read, only integers (0x08, 0x0b, 0x0c)", type));
  }
}

std::int64_t big_endian(const std::uint8_t* bytes) {
  return std::int64_t(bytes[0]) << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

std::vector<std::int64_t> read_dims(ByteReader& in, std::size_t rank) {
  const std::vector<std::uint8_t> bytes = in.read_up_to(4 * rank);
  if (bytes.size() < 4 * rank) in.fail("ends inside its IDX header: is the file truncated?");
  std::vector<std::int64_t> dims;
  for (std::size_t d = 0; d < rank; ++d) {
    dims.push_back(big_endian(&bytes[4 * d]));
    if (dims.back() == 0) in.fail(fmt::format("dimension {} of {} is zero", d + 1, rank));
    if (dims.back() > kMaxDim)
      in.fail(fmt::format("dimension {} of {} is {}, and at most 2^31 - 1 is allowed", d + 1, rank,
                          dims.back()));
  }
  return dims;
}

// Division instead of a product: 255 dimensions of 2^32 - 1 overflow any integer.
std::uint64_t values_size(const ByteReader& in, const IdxArray& array) {
  std::uint64_t size = std::uint64_t(array.item_bytes);
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

}  // namespace

IdxArray parse_idx(std::istream& stream, const std::string& name, std::size_t rank) {
  ByteReader in(stream, name);
  std::array<std::uint8_t, 4> magic{};
  if (in.read(magic) < magic.size()) in.fail("is too short for an IDX file");
  if (magic[0] != 0 || magic[1] != 0)
    in.fail(fmt::format("is not an IDX file: it begins with {:02x} {:02x} instead of 00 00",
                        magic[0], magic[1]));
  IdxArray array;
  array.item_bytes = bytes_of_type(magic[2], in);
  if (rank != kAnyRank && magic[3] != rank)
    in.fail(fmt::format("has {} dimensions where {} are needed", int(magic[3]), rank));
  if (magic[3] == 0) in.fail("has no dimensions");
  if (magic[3] > kMaxRank)
    in.fail(fmt::format("has {} dimensions, and at most {} are read", int(magic[3]), kMaxRank));
  array.dims = read_dims(in, magic[3]);

  const std::uint64_t size = values_size(in, array);
  array.values = in.read_up_to(size);
  if (array.values.size() < size)
    in.fail(fmt::format("ends after {} of its {} bytes of values: is the file truncated?",
                        array.values.size(), size));
  std::array<std::uint8_t, 1> beyond{};
  if (in.read(beyond) != 0)
    in.fail(fmt::format("goes on after the {} values that its header promises",
                        fmt::join(array.dims, " x ")));
  return array;
}

IdxArray read_idx(const fs::path& path, std::size_t rank) {
  if (!fs::is_regular_file(path)) throw DataError(path.string() + ": is not a file");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw DataError(path.string() + ": cannot be opened: check its permissions");
  return parse_idx(in, path.string(), rank);
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
  if (array.item_bytes != 1) throw DataError(path.string() + ": pixels must be unsigned bytes");
  return {array.dims[0], array.dims[1], array.dims[2], std::move(array.values)};
}

std::vector<std::int32_t> integers(const IdxArray& array) {
  const std::size_t count = array.values.size() / std::size_t(array.item_bytes);
  std::vector<std::int32_t> result;
  result.reserve(count);
  for (std::size_t n = 0; n < count; ++n) {
    const std::uint8_t* item = &array.values[n * std::size_t(array.item_bytes)];
    switch (array.item_bytes) {
      case 1:
        result.push_back(item[0]);
        break;
      case 2:
        result.push_back(std::int16_t(item[0] << 8 | item[1]));
        break;
      default:
        result.push_back(std::int32_t(big_endian(item)));
    }
  }
  return result;
}

std::vector<std::int32_t> read_ids(const fs::path& path, std::int64_t count) {
  const IdxArray array = read_idx(path, 1);
  if (array.count() != count)
    throw DataError(
        fmt::format("{}: {} labels do not match {} images", path.string(), array.count(), count));
  return integers(array);
}

}  // namespace sfnn
