// What one pass over rows of an own file has found, kept beside a run: a resumed run does not look
// again if the file is as it was, and notices if its rows are others.
#pragma once

#include <cstdint>
#include <string>

namespace sfnn {

struct FileFacts {
  std::string part;          // "train_x", "valid_x", "test_y", ...
  std::uint64_t size = 0;    // of the file, in bytes
  std::int64_t changed = 0;  // when, in nanoseconds; 0: the file is unpacked in memory
  std::int64_t rows = 0;     // that are used
  std::uint32_t crc = 0;     // CRC-32 of these rows
  std::uint8_t largest = 0;  // byte among them; 0: the numbers are no bytes

  bool same_file(const FileFacts& other) const {
    return part == other.part && size == other.size && changed == other.changed &&
           rows == other.rows;
  }
};

}  // namespace sfnn
