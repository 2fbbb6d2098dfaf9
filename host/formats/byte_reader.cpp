#include "host/formats/byte_reader.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>

#include "host/base/error.hpp"

namespace sfnn {
namespace {

constexpr std::size_t kChunk = 64 * 1024;
constexpr std::uint64_t kMaxExpansion = 1032;  // deflate: at most 258 bytes from 2 bits
constexpr int kGzipWindow = 15 + 16;           // zlib: the largest window, a gzip header expected

}  // namespace

struct ByteReader::Inflater {
  Inflater() {
    if (inflateInit2(&stream, kGzipWindow) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream stream{};
  std::array<std::uint8_t, kChunk> packed;
  bool between_members = false;  // a gzip file is one or more members, one after the other
};

ByteReader::ByteReader(std::istream& in, std::string name) : in_(in), name_(std::move(name)) {
  in_.seekg(0, std::ios::end);
  const std::streamoff size = in_.tellg();
  in_.seekg(0);
  if (!in_ || size < 0) fail("cannot be read");
  ceiling_ = std::uint64_t(size);

  std::array<std::uint8_t, 2> magic{};
  const bool packed = read_packed(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
  in_.seekg(0);
  if (packed) {
    ceiling_ = ceiling_ < kMaxUnpacked / kMaxExpansion ? ceiling_ * kMaxExpansion : kMaxUnpacked;
    inflater_ = std::make_unique<Inflater>();
  }
}

ByteReader::~ByteReader() = default;

void ByteReader::fail(const std::string& reason) const { throw DataError(name_ + ": " + reason); }

std::size_t ByteReader::read_packed(std::span<std::uint8_t> out) {
  in_.read(reinterpret_cast<char*>(out.data()), std::streamsize(out.size()));
  if (in_.bad()) fail("reading failed");
  const auto count = std::size_t(in_.gcount());
  in_.clear();  // the end of the file is not an error
  return count;
}

std::size_t ByteReader::read(std::span<std::uint8_t> out) {
  std::size_t filled = 0;
  while (filled < out.size()) {
    const auto rest = out.subspan(filled, std::min(out.size() - filled, kChunk));
    const std::size_t count = inflater_ ? inflate_into(rest) : read_packed(rest);
    if (count == 0) break;
    filled += count;
  }
  return filled;
}

// At least one byte, or zero at the end of the last member.
std::size_t ByteReader::inflate_into(std::span<std::uint8_t> out) {
  z_stream& z = inflater_->stream;
  z.next_out = out.data();
  z.avail_out = uInt(out.size());
  while (z.avail_out == out.size()) {
    if (z.avail_in == 0) {
      z.next_in = inflater_->packed.data();
      z.avail_in = uInt(read_packed(inflater_->packed));
      if (z.avail_in == 0) {
        if (inflater_->between_members) return 0;
        fail("the gzip data end too early: is the file truncated?");
      }
    }
    if (inflater_->between_members) inflateReset(&z);
    const int status = inflate(&z, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END)
      fail(inflater_->between_members ? "there are foreign bytes after the gzip data"
                                      : "the gzip data are damaged");
    inflater_->between_members = status == Z_STREAM_END;
  }
  return out.size() - z.avail_out;
}

std::vector<std::uint8_t> ByteReader::read_up_to(std::uint64_t count) {
  std::vector<std::uint8_t> bytes;
  while (bytes.size() < count) {
    const std::size_t have = bytes.size();
    const auto want = have + std::size_t(std::min<std::uint64_t>(count - have, kChunk));
    if (want > bytes.capacity())
      bytes.reserve(std::size_t(std::min<std::uint64_t>(count, std::max(want, 2 * have))));
    bytes.resize(want);
    const std::size_t got = read(std::span(bytes).subspan(have));
    bytes.resize(have + got);
    if (got == 0) break;
  }
  return bytes;
}

}  // namespace sfnn
