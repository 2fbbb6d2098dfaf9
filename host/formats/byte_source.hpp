// Bytes that can be read at any place: those of a file, which stay on disk, or of memory.
//
// A file is read by pread and not mapped: a mapped file that somebody cuts ends the process by
// SIGBUS, and a handler for it would belong to the program that this is a library of. Read, a cut
// file is a short count, and an error of one sentence.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/formats/file_descriptor.hpp"

namespace sfnn {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  const std::string& name() const { return name_; }  // what errors call it
  [[noreturn]] void fail(const std::string& why) const;

  virtual std::uint64_t size() const = 0;
  virtual bool in_memory() const = 0;
  virtual std::int64_t changed() const { return 0; }  // when, in nanoseconds; 0: not a file
  // Fills `to` with the bytes from `offset`, which must exist. Any thread may call it. Throws
  // DataError if they are gone.
  virtual void read(std::uint64_t offset, std::span<std::byte> to) const = 0;
  // Throws DataError if the bytes are no longer those that were opened.
  virtual void require_unchanged() const {}
  // These bytes will be read soon: a disk may begin.
  virtual void will_need(std::uint64_t offset, std::uint64_t count) const {
    static_cast<void>(offset), static_cast<void>(count);
  }

  // The first `most` bytes, or all.
  std::vector<std::byte> head(std::size_t most) const;

 protected:
  explicit ByteSource(std::string name) : name_(std::move(name)) {}

 private:
  std::string name_;
};

using SharedSource = std::shared_ptr<const ByteSource>;

class FileSource final : public ByteSource {
 public:
  // Throws DataError, also if it is no regular file: a pipe is not waited for.
  explicit FileSource(const std::filesystem::path&);

  std::uint64_t size() const override { return std::uint64_t(opened_.st_size); }
  bool in_memory() const override { return false; }
  std::int64_t changed() const override {
    return std::int64_t(opened_.st_mtim.tv_sec) * 1'000'000'000 + opened_.st_mtim.tv_nsec;
  }
  void read(std::uint64_t offset, std::span<std::byte> to) const override;
  void require_unchanged() const override;
  void will_need(std::uint64_t offset, std::uint64_t count) const override;

 private:
  struct stat look() const;

  FileDescriptor file_;
  struct stat opened_;  // its size and time when it was opened
};

class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string name, std::vector<std::uint8_t> bytes)
      : ByteSource(std::move(name)), bytes_(std::move(bytes)) {}

  std::uint64_t size() const override { return bytes_.size(); }
  bool in_memory() const override { return true; }
  void read(std::uint64_t offset, std::span<std::byte> to) const override;

 private:
  std::vector<std::uint8_t> bytes_;
};

}  // namespace sfnn
