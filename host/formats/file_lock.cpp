#include "host/formats/file_lock.hpp"

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "host/base/error.hpp"
#include "host/base/utf8.hpp"

namespace sfnn {
namespace {

constexpr std::string_view kProcess = "process ";

// Empty, or what a holder wrote about itself; anything else is somebody's file.
bool is_ours(std::string_view text) {
  if (text.empty()) return true;
  return text.starts_with(kProcess) && text.size() > kProcess.size() &&
         text.find_first_not_of("0123456789", kProcess.size()) == std::string_view::npos;
}

}  // namespace

std::unique_ptr<FileLock> FileLock::take(const std::filesystem::path& path, std::string& holder) {
  std::unique_ptr<FileLock> lock(new FileLock(path));
  const int fd = lock->file_.get();
  const bool taken = lock->file_.is_open() && ::flock(fd, LOCK_EX | LOCK_NB) == 0;
  if (!taken && errno != EWOULDBLOCK) {
    throw SaveError(fmt::format("{}: cannot be locked: {}", path.string(),
                                std::generic_category().message(errno)));
  }
  std::array<char, 64> text;
  const ssize_t size = ::pread(fd, text.data(), text.size(), 0);
  holder.assign(text.data(), std::size_t(std::max<ssize_t>(size, 0)));
  if (!taken) {
    if (holder.empty() || !is_printable_utf8(holder)) holder = "another process";
    return nullptr;
  }
  struct stat facts {};
  if (::fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_nlink != 1 ||
      !is_ours(holder)) {
    throw ConfigError(
        fmt::format("{} exists and is no lock of ours: choose another directory", path.string()));
  }
  // Tells whoever is kept out; on a full disk the file stays empty.
  const std::string self = fmt::format("{}{}", kProcess, ::getpid());
  [[maybe_unused]] const bool noted =
      ::ftruncate(fd, 0) == 0 && ::pwrite(fd, self.data(), self.size(), 0) >= 0;
  return lock;
}

}  // namespace sfnn
