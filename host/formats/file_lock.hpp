// A file that one process at a time can hold. The kernel releases it when the process ends, however
// it dies, so there is never a stale lock to remove by hand.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "host/formats/file_descriptor.hpp"

namespace sfnn {

class FileLock {
 public:
  // Makes the file if it is missing. Null: another process holds it, and `holder` is what that one
  // wrote about itself ("process 4711"). Throws SaveError if the file cannot be opened, and
  // ConfigError if it is not a lock of ours: it holds something else, or has a second name.
  static std::unique_ptr<FileLock> take(const std::filesystem::path&, std::string& holder);

 private:
  explicit FileLock(const std::filesystem::path& path)
      : file_(path, O_RDWR | O_CREAT | O_NOFOLLOW) {}

  FileDescriptor file_;
};

}  // namespace sfnn
