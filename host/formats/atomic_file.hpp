// Whole files. A reader of the final name sees the old bytes or the new ones, never a part,
// whatever is killed or fails in between.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "host/formats/file_descriptor.hpp"

namespace sfnn {

// Writes a temporary in the same directory, under a name that nothing has, syncs it, renames it
// over `path` and syncs the directory. On failure throws SaveError with the system's reason; `path`
// is then as it was (or new, if only the directory could not be synced) and the temporary is gone.
// If several write to one path, the last one's bytes stay.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);
// The same for bytes that lie in several places, in this order.
void write_file_atomically(const std::filesystem::path& path,
                           std::span<const std::string_view> pieces);

// The same for a path that the user named, which need not be a regular file: a pipe or a character
// device, also at the end of a link (/dev/stdout), has the bytes written into it. Anything else
// that exists and is no regular file is left as it is: ConfigError.
void write_output(const std::filesystem::path& path, std::string_view bytes);
// Is it such a pipe or device? Throws ConfigError if write_output would.
bool is_stream(const std::filesystem::path& path);

// The file that a temporary would have become, by its name; none: it is no temporary of ours. A
// temporary of a killed process stays until a caller that knows it is dead removes it.
std::optional<std::string> target_of_temporary(std::string_view file_name);

// Makes the directory and those above it if they are missing; each is on disk when this returns, so
// that files in it cannot be lost with it. Throws SaveError.
void make_directories(const std::filesystem::path& path);

// Throws DataError if the path itself is a link: in a directory made by others it may lead
// anywhere, and its contents would be shown.
void require_no_link(const std::filesystem::path& path);

// A new name lasts only once its directory is on disk. False: errno says why.
bool sync_directory(const std::filesystem::path& path);

// A file that is read from its beginning, piece by piece. All throw DataError with its name.
class InputFile {
 public:
  // Also throws if it is no regular file: a pipe is not waited for.
  explicit InputFile(const std::filesystem::path& path);

  std::size_t size() const { return size_; }  // when it was opened
  std::string read(std::size_t count);        // the next `count` bytes, which must exist
  void read_into(std::span<std::byte> bytes);
  [[noreturn]] void fail(const std::string& why) const;

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
  std::size_t size_ = 0;
};

// Throws DataError, also for a file of more than max_bytes, before memory is taken for it.
std::string read_file(const std::filesystem::path& path, std::size_t max_bytes);

}  // namespace sfnn
