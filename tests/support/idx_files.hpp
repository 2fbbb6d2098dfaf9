// IDX files made for a test: bytes, gzip, and a folder that goes away with the test.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/temporary_directory.hpp"

namespace sfnn::test {

using Bytes = std::string;

inline Bytes idx_header(const std::vector<std::uint32_t>& dims, int type = 0x08) {
  Bytes bytes{0, 0, char(type), char(dims.size())};
  for (const std::uint32_t dim : dims)
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(char(dim >> shift));
  return bytes;
}

inline Bytes gzip(const Bytes& bytes) {
  z_stream z{};
  if (deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("deflateInit2");
  Bytes packed(deflateBound(&z, bytes.size()), 0);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = uInt(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(packed.data());
  z.avail_out = uInt(packed.size());
  if (deflate(&z, Z_FINISH) != Z_STREAM_END) throw std::runtime_error("deflate");
  packed.resize(z.total_out);
  deflateEnd(&z);
  return packed;
}

class TempFolder : public TemporaryDirectory {
 public:
  // Makes the folders on the way, too.
  std::filesystem::path write(const std::string& name, const Bytes& bytes) const {
    const auto file = path() / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << bytes;
    return file;
  }
};

// The message of the E that fn throws; the test fails if it throws none.
template <class E, class Fn>
std::string message_of(Fn&& fn) {
  try {
    fn();
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

}  // namespace sfnn::test
