// The bytes of a file, unpacked if it is gzip. The first bytes decide that, not the name.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sfnn {

// Most bytes unpacked from a gzip file, so that a small file cannot fill the memory. A plain file
// is bounded by its own size.
constexpr std::uint64_t kMaxUnpacked = std::uint64_t(1) << 30;

class ByteReader {
 public:
  // `in` must be seekable; `name` is what errors call it.
  ByteReader(std::istream& in, std::string name);
  ~ByteReader();

  // Fills `out`; returns less than its size only at the end.
  std::size_t read(std::span<std::uint8_t> out);

  // The next `count` bytes, or as many as there are. Memory is allocated as they arrive, never
  // because a header says so: at most twice `count`, three times what has arrived, and 64 KiB.
  std::vector<std::uint8_t> read_up_to(std::uint64_t count);

  // Upper bound of the bytes that this reader can give: a header that promises more is wrong, or
  // asks for too much.
  std::uint64_t ceiling() const { return ceiling_; }

  bool is_packed() const { return inflater_ != nullptr; }

  [[noreturn]] void fail(const std::string& reason) const;  // throws DataError

 private:
  struct Inflater;

  std::size_t read_packed(std::span<std::uint8_t> out);
  std::size_t inflate_into(std::span<std::uint8_t> out);

  std::istream& in_;
  std::string name_;
  std::uint64_t ceiling_ = 0;
  std::unique_ptr<Inflater> inflater_;  // null: the file is not packed
};

}  // namespace sfnn
