// A file that one process at a time can hold. The kernel takes it back when the process ends, by
// whatever death, so that there is never a stale lock to remove by hand.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "host/formats/file_descriptor.hpp"

namespace sfnn {

class FileLock {
 public:
  // Makes the file where it is absent. Null: another process holds it, and `holder` is what that
  // one wrote of itself ("process 4711"). Throws SaveError where the file cannot be opened, and
  // ConfigError where it is another's: it holds something else, or has a second name.
  static std::unique_ptr<FileLock> take(const std::filesystem::path&, std::string& holder);

 private:
  explicit FileLock(const std::filesystem::path& path)
      : file_(path, O_RDWR | O_CREAT | O_NOFOLLOW) {}

  FileDescriptor file_;
};

}  // namespace sfnn
