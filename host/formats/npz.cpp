#include "host/formats/npz.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "host/base/error.hpp"
#include "host/base/utf8.hpp"
#include "host/formats/byte_reader.hpp"
#include "host/formats/npy.hpp"

namespace sfnn {
namespace {

constexpr std::string_view kLocal = "PK\x03\x04", kCentral = "PK\x01\x02", kEnd = "PK\x05\x06",
                           kEnd64 = "PK\x06\x06", kLocator64 = "PK\x06\x07";
constexpr std::size_t kEndBytes = 22, kLocatorBytes = 20, kEnd64Bytes = 56, kCentralBytes = 46,
                      kLocalBytes = 30;
constexpr std::size_t kMaxMembers = 4096, kMaxDirectory = std::size_t(1) << 20;
constexpr std::uint16_t kStored = 0, kDeflated = 8, kEncrypted = 1, kExtra64 = 1;
constexpr std::uint32_t kIn64 = 0xffffffff;

// Little-endian fields of a record; reading beyond its end is a damaged archive.
class Record {
 public:
  Record(const ByteSource& source, std::string_view bytes) : source_(source), bytes_(bytes) {}

  template <class T>
  T at(std::size_t offset) const {
    T value{};
    std::memcpy(&value, text(offset, sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string_view text(std::size_t offset, std::size_t count) const {
    if (offset > bytes_.size() || count > bytes_.size() - offset) refuse();
    return bytes_.substr(offset, count);
  }
  void require(std::string_view mark) const {
    if (text(0, mark.size()) != mark) refuse();
  }
  std::size_t size() const { return bytes_.size(); }
  [[noreturn]] void refuse() const { source_.fail("is a damaged .npz file: is it truncated?"); }

 private:
  const ByteSource& source_;
  std::string_view bytes_;
};

std::string read_text(const ByteSource& source, std::uint64_t offset, std::uint64_t count) {
  if (offset > source.size() || count > source.size() - offset)
    source.fail("is a damaged .npz file: is it truncated?");
  std::string bytes(std::size_t(count), '\0');
  source.read(offset, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

struct Directory {
  std::uint64_t offset = 0, bytes = 0, count = 0;
};

// The end of the archive says where its directory is; a comment may follow, which NumPy does not
// write.
Directory find_directory(const ByteSource& source) {
  const std::uint64_t size = source.size();
  if (size < kEndBytes) source.fail("is too short for an .npz file");
  const std::string end_bytes = read_text(source, size - kEndBytes, kEndBytes);
  const Record end(source, end_bytes);
  end.require(kEnd);
  Directory directory{end.at<std::uint32_t>(16), end.at<std::uint32_t>(12),
                      end.at<std::uint16_t>(10)};
  if (directory.offset != kIn64 && directory.count != 0xffff) return directory;
  if (size < kEndBytes + kLocatorBytes) end.refuse();
  const std::string locator_bytes =
      read_text(source, size - kEndBytes - kLocatorBytes, kLocatorBytes);
  const Record locator(source, locator_bytes);
  locator.require(kLocator64);
  const std::string large_bytes = read_text(source, locator.at<std::uint64_t>(8), kEnd64Bytes);
  const Record large(source, large_bytes);
  large.require(kEnd64);
  return {large.at<std::uint64_t>(48), large.at<std::uint64_t>(40), large.at<std::uint64_t>(32)};
}

// Sizes of 4 GiB and more are in an extra field, in this order, each only if it is needed.
void read_large_sizes(const Record& extra, NpzMember& member) {
  for (std::size_t at = 0; at + 4 <= extra.size();) {
    const auto kind = extra.at<std::uint16_t>(at), bytes = extra.at<std::uint16_t>(at + 2);
    std::size_t field = at + 4;
    if (kind == kExtra64) {
      for (std::uint64_t* value : {&member.size, &member.packed, &member.header}) {
        if (*value != kIn64) continue;
        *value = extra.at<std::uint64_t>(field);
        field += 8;
      }
      return;
    }
    at += 4 + bytes;
  }
}

NpzMember read_member(const ByteSource& source, const Record& entry, std::string_view name,
                      std::string_view extra) {
  if (entry.at<std::uint16_t>(8) & kEncrypted) source.fail("is encrypted");
  const auto method = entry.at<std::uint16_t>(10);
  if (method != kStored && method != kDeflated)
    source.fail(fmt::format("is packed by method {}: save it with np.savez", method));
  NpzMember member{.name = std::string(name),
                   .header = entry.at<std::uint32_t>(42),
                   .packed = entry.at<std::uint32_t>(20),
                   .size = entry.at<std::uint32_t>(24),
                   .crc = entry.at<std::uint32_t>(16),
                   .deflated = method == kDeflated};
  read_large_sizes(Record(source, extra), member);
  if (member.name.ends_with(".npy")) member.name.resize(member.name.size() - 4);
  return member;
}

// Where the member's bytes begin: its own header has a name and extra fields of its own.
std::uint64_t place_of(const ByteSource& source, const NpzMember& member) {
  const std::string bytes = read_text(source, member.header, kLocalBytes);
  const Record local(source, bytes);
  local.require(kLocal);
  const std::uint64_t place =
      member.header + kLocalBytes + local.at<std::uint16_t>(26) + local.at<std::uint16_t>(28);
  if (place > source.size() || member.packed > source.size() - place) local.refuse();
  return place;
}

struct Inflater {
  Inflater() {
    if (inflateInit2(&stream, -15) != Z_OK) throw std::bad_alloc();  // no header of its own
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream stream{};
};

std::vector<std::uint8_t> unpack(const ByteSource& source, const NpzMember& member,
                                 std::uint64_t place) {
  constexpr std::uint64_t kMaxExpansion = 1032;  // deflate: at most 258 bytes from 2 bits
  if (member.size > kMaxUnpacked)
    source.fail("holds more than 1 GiB of packed values: save it with np.savez");
  if (member.size > member.packed * kMaxExpansion) source.fail("promises more than it can hold");
  std::vector<std::uint8_t> bytes(std::size_t(member.size)), chunk(64 * 1024);
  Inflater inflater;
  z_stream& z = inflater.stream;
  z.next_out = bytes.data();
  z.avail_out = uInt(bytes.size());
  int status = Z_OK;
  for (std::uint64_t done = 0; status == Z_OK && done < member.packed;) {
    const auto part = std::size_t(std::min<std::uint64_t>(chunk.size(), member.packed - done));
    source.read(place + done, std::as_writable_bytes(std::span(chunk).first(part)));
    done += part;
    z.next_in = chunk.data();
    z.avail_in = uInt(part);
    status = inflate(&z, Z_NO_FLUSH);
  }
  if (status != Z_STREAM_END || z.avail_out != 0 ||
      crc32(0, bytes.data(), uInt(bytes.size())) != member.crc)
    source.fail("its packed values are damaged");
  return bytes;
}

}  // namespace

bool is_npz(std::string_view first_bytes) {
  return first_bytes.starts_with(kLocal) || first_bytes.starts_with(kEnd);
}

std::vector<NpzMember> npz_members(const ByteSource& source) {
  const Directory directory = find_directory(source);
  if (directory.count > kMaxMembers || directory.bytes > kMaxDirectory)
    source.fail("has too many members for an .npz file");
  const std::string bytes = read_text(source, directory.offset, directory.bytes);
  std::vector<NpzMember> members;
  std::size_t at = 0;
  for (std::uint64_t n = 0; n < directory.count; ++n) {
    const Record rest(source, std::string_view(bytes).substr(at));
    rest.require(kCentral);
    const std::size_t name = rest.at<std::uint16_t>(28), extra = rest.at<std::uint16_t>(30),
                      comment = rest.at<std::uint16_t>(32);
    members.push_back(read_member(source, rest, rest.text(kCentralBytes, name),
                                  rest.text(kCentralBytes + name, extra)));
    at += kCentralBytes + name + extra + rest.text(kCentralBytes + name + extra, comment).size();
  }
  return members;
}

ArrayFile open_npz(const SharedSource& source, const NpzMember& member) {
  const std::uint64_t place = place_of(*source, member);
  if (member.deflated)
    return open_npy(std::make_shared<MemorySource>(source->name(), unpack(*source, member, place)));
  if (member.size != member.packed) source->fail("is a damaged .npz file");
  return open_npy(source, place, member.size);
}

ArrayFile open_npz(const std::filesystem::path& path, std::string_view name) {
  const auto source = std::make_shared<FileSource>(path);
  const std::vector<NpzMember> members = npz_members(*source);
  for (const NpzMember& member : members)
    if (member.name == name || members.size() == 1) return open_npz(source, member);
  std::vector<std::string> names;
  for (const NpzMember& member : members)
    names.push_back(is_printable_utf8(member.name) ? member.name.substr(0, 40) : "?");
  names.resize(std::min<std::size_t>(names.size(), 10));
  source->fail(fmt::format("holds {} arrays ({}): say which, as in {}:{}", members.size(),
                           fmt::join(names, ", "), path.filename().string(),
                           names.empty() ? "NAME" : names[0]));
}

ArrayFile open_npz(const std::filesystem::path& path) { return open_npz(path, ""); }

}  // namespace sfnn
