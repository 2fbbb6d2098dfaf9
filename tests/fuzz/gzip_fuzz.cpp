// The bytes as they are; and, since no mutation hits a checksum, the bytes packed as the contents
// of two members, which must come out whole.
#include <zlib.h>

#include <sstream>
#include <string>
#include <vector>

#include "host/formats/byte_reader.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace sfnn;

namespace {

using Bytes = std::vector<std::uint8_t>;

std::string gzip(std::string_view bytes, int level) {
  z_stream z{};
  fuzz::demand(deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK, "zlib");
  std::string packed(deflateBound(&z, bytes.size()), 0);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = uInt(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(packed.data());
  z.avail_out = uInt(packed.size());
  fuzz::demand(deflate(&z, Z_FINISH) == Z_STREAM_END, "zlib");
  packed.resize(z.total_out);
  deflateEnd(&z);
  return packed;
}

Bytes read_all(const std::string& file, std::uint64_t most) {
  std::istringstream in(file);
  ByteReader reader(in, fuzz::kName);
  Bytes bytes = reader.read_up_to(most);
  fuzz::demand(bytes.size() <= reader.ceiling(), "no more bytes than the ceiling");
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint64_t kMost = 1 << 20;
  const std::string file(reinterpret_cast<const char*>(data), size);
  fuzz::load_within<DataError>((1 << 20) + 2 * kMost + 2 * size,
                               [&] { return read_all(file, kMost); });

  const std::size_t border = size > 0 ? data[0] * size / 256 : 0;
  const std::string_view contents(file);
  const std::string packed = gzip(contents.substr(0, border), 1) + gzip(contents.substr(border), 9);
  fuzz::demand(read_all(packed, kMaxUnpacked) == Bytes(data, data + size),
               "what was packed comes out");
  return 0;
}
