#include "host/io/file_lock.hpp"

#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "host/backend/error.hpp"
#include "host/io/utf8.hpp"

namespace sfnn {

std::unique_ptr<FileLock> FileLock::take(const std::filesystem::path& path, std::string& holder) {
  std::unique_ptr<FileLock> lock(new FileLock(path));
  const int fd = lock->file_.get();
  const bool taken = lock->file_.is_open() && ::flock(fd, LOCK_EX | LOCK_NB) == 0;
  if (!taken && errno != EWOULDBLOCK) {
    throw SaveError(fmt::format("{}: cannot be locked: {}", path.string(),
                                std::generic_category().message(errno)));
  }
  if (!taken) {
    std::array<char, 64> text;
    const ssize_t size = ::pread(fd, text.data(), text.size(), 0);
    holder.assign(text.data(), std::size_t(std::max<ssize_t>(size, 0)));
    if (holder.empty() || !is_printable_utf8(holder)) holder = "another process";
    return nullptr;
  }
  // A courtesy to whom it keeps out; on a full disk it stays away.
  const std::string self = fmt::format("process {}", ::getpid());
  if (::ftruncate(fd, 0) == 0 && ::pwrite(fd, self.data(), self.size(), 0) < 0) return lock;
  return lock;
}

}  // namespace sfnn
