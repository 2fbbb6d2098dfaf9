#include "host/formats/atomic_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <exception>
#include <system_error>
#include <utility>

#include "host/base/error.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporary = ".tmp";
constexpr int kMaxTemporary = 100;  // temporaries per process and file

std::string reason(int error) { return std::generic_category().message(error); }

// Removes a file that was not finished.
class Temporary {
 public:
  explicit Temporary(fs::path path) : path_(std::move(path)) {}
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  void keep() { path_.clear(); }

 private:
  fs::path path_;
};

// Whatever has such a name already, a file, a link or a pipe, is neither opened nor replaced.
FileDescriptor open_temporary(const fs::path& path, fs::path& temporary) {
  for (int number = 0;; ++number) {
    temporary = path;
    temporary += fmt::format(".{}-{}{}", ::getpid(), number, kTemporary);
    FileDescriptor file(temporary, O_WRONLY | O_CREAT | O_EXCL);
    if (file.is_open() || errno != EEXIST || number == kMaxTemporary) return file;
  }
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes.remove_prefix(std::size_t(count));
  }
  return true;
}

}  // namespace

bool sync_directory(const fs::path& path) {
  const FileDescriptor directory(path.empty() ? fs::path(".") : path, O_RDONLY | O_DIRECTORY);
  return directory.is_open() && ::fsync(directory.get()) == 0;
}

void make_directories(const fs::path& path) {
  // "a/b/" names the same directory as "a/b", and its parent is a.
  const fs::path directory = path.has_filename() ? path : path.parent_path();
  std::error_code ignored;
  if (directory.empty() || fs::is_directory(directory, ignored)) return;
  make_directories(directory.parent_path());
  const bool made = ::mkdir(directory.c_str(), 0777) == 0;
  const int error = errno;
  if (!made && error == EEXIST && fs::is_directory(directory, ignored)) return;
  // A directory that is writable but not readable cannot be opened: the system syncs it when it
  // likes.
  if (!made || (!sync_directory(directory.parent_path()) && errno != EACCES)) {
    throw SaveError(fmt::format("cannot make the directory {}: {}", directory.string(),
                                reason(made ? errno : error)));
  }
}

void write_file_atomically(const fs::path& path, std::string_view bytes) {
  write_file_atomically(path, std::span(&bytes, 1));
}

void write_file_atomically(const fs::path& path, std::span<const std::string_view> pieces) {
  const auto fail = [&](const char* what) {
    throw SaveError(fmt::format("{}: cannot {}: {}", path.string(), what, reason(errno)));
  };
  fs::path temporary_path;
  FileDescriptor file = open_temporary(path, temporary_path);
  if (!file.is_open()) fail("be written");
  Temporary temporary(temporary_path);
  for (const std::string_view piece : pieces)
    if (!write_all(file.get(), piece)) fail("be written");
  if (::fsync(file.get()) != 0) fail("be synced to disk");
  if (file.close() != 0) fail("be written");
  if (::rename(temporary_path.c_str(), path.c_str()) != 0) fail("be put in place");
  temporary.keep();

  // The rename itself lasts only once the directory is on disk.
  if (!sync_directory(path.parent_path())) fail("be synced to disk");
}

bool is_stream(const fs::path& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) == 0 && (S_ISFIFO(facts.st_mode) || S_ISCHR(facts.st_mode)))
    return true;
  if (::lstat(path.c_str(), &facts) != 0 || S_ISREG(facts.st_mode)) return false;
  throw ConfigError(fmt::format(
      "{} is {}, which is not replaced: name a file or a pipe", path.string(),
      S_ISLNK(facts.st_mode)   ? "a link"  // to a file that an appending shell may hold open
      : S_ISDIR(facts.st_mode) ? "a directory"
                               : "not a file"));
}

void write_output(const fs::path& path, std::string_view bytes) {
  if (!is_stream(path)) return write_file_atomically(path, bytes);
  const FileDescriptor stream(path, O_WRONLY | O_NOCTTY);
  if (!stream.is_open() || !write_all(stream.get(), bytes)) {
    throw SaveError(fmt::format("{}: cannot be written: {}", path.string(), reason(errno)));
  }
}

std::optional<std::string> target_of_temporary(std::string_view file_name) {
  // From its end: .tmp, a number, a dash, a number, a dot.
  if (!file_name.ends_with(kTemporary)) return std::nullopt;
  std::string_view rest = file_name.substr(0, file_name.size() - kTemporary.size());
  for (const char before : {'-', '.'}) {
    const std::size_t digits = rest.find_last_not_of("0123456789");
    if (digits == std::string_view::npos || digits + 1 == rest.size() || rest[digits] != before)
      return std::nullopt;
    rest = rest.substr(0, digits);
  }
  return std::string(rest);
}

void require_no_link(const fs::path& path) {
  if (fs::is_symlink(path))
    throw DataError(
        fmt::format("{} is a link: a run's files lie in its own directory", path.string()));
}

InputFile::InputFile(const fs::path& path)
    : path_(path), file_(path, O_RDONLY | O_NONBLOCK) {  // a pipe would be waited for
  if (!file_.is_open()) fail(reason(errno));
  struct stat facts {};
  if (::fstat(file_.get(), &facts) != 0) fail(reason(errno));
  if (!S_ISREG(facts.st_mode)) fail("not a regular file");
  size_ = std::size_t(facts.st_size);
}

void InputFile::fail(const std::string& why) const {
  throw DataError(fmt::format("{}: cannot be read: {}", path_.string(), why));
}

std::string InputFile::read(std::size_t count) {
  std::string bytes;
  try {
    bytes.resize(count);
  } catch (const std::exception&) {  // no memory, or more than any string has
    fail(fmt::format("there is no memory for its {} bytes", count));
  }
  read_into(std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

void InputFile::read_into(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::read(file_.get(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(reason(errno));
    if (got == 0) fail("it became shorter while it was read");
    bytes = bytes.subspan(std::size_t(got));
  }
}

std::string read_file(const fs::path& path, std::size_t max_bytes) {
  InputFile file(path);
  if (file.size() > max_bytes)
    file.fail(fmt::format("{} bytes, and at most {} are expected", file.size(), max_bytes));
  return file.read(file.size());
}

}  // namespace sfnn
