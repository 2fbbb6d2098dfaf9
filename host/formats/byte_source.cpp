#include "host/formats/byte_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "host/base/error.hpp"

namespace sfnn {
namespace {

bool same(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

std::string reason() { return std::generic_category().message(errno); }

}  // namespace

void ByteSource::fail(const std::string& why) const {
  throw DataError(fmt::format("{}: {}", name_, why));
}

std::vector<std::byte> ByteSource::head(std::size_t most) const {
  std::vector<std::byte> bytes(std::size_t(std::min<std::uint64_t>(most, size())));
  read(0, bytes);
  return bytes;
}

// O_NONBLOCK: opening a pipe would wait for its writer.
FileSource::FileSource(const std::filesystem::path& path)
    : ByteSource(path.string()), file_(path, O_RDONLY | O_NONBLOCK) {
  if (!file_.is_open()) fail(fmt::format("cannot be read: {}", reason()));
  opened_ = look();
  if (!S_ISREG(opened_.st_mode)) fail("cannot be read: not a regular file");
}

struct stat FileSource::look() const {
  struct stat found {};
  if (::fstat(file_.get(), &found) != 0) fail(fmt::format("cannot be read: {}", reason()));
  return found;
}

void FileSource::read(std::uint64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t count = ::pread(file_.get(), to.data(), to.size(), off_t(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(fmt::format("cannot be read: {}", reason()));
    if (count == 0)
      fail(
          fmt::format("ends after {} bytes, and had {} when it was opened: it was cut while in use",
                      look().st_size, opened_.st_size));
    to = to.subspan(std::size_t(count));
    offset += std::uint64_t(count);
  }
}

void FileSource::require_unchanged() const {
  const struct stat now = look();
  if (now.st_size != opened_.st_size || !same(now.st_mtim, opened_.st_mtim))
    fail("was changed while in use");
}

void FileSource::will_need(std::uint64_t offset, std::uint64_t count) const {
  static_cast<void>(
      ::posix_fadvise(file_.get(), off_t(offset), off_t(count), POSIX_FADV_WILLNEED));  // a hint
}

void MemorySource::read(std::uint64_t offset, std::span<std::byte> to) const {
  if (offset > bytes_.size() || to.size() > bytes_.size() - offset) fail("ends too early");
  if (!to.empty()) std::memcpy(to.data(), bytes_.data() + offset, to.size());
}

}  // namespace sfnn
