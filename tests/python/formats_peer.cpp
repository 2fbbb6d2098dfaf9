// The C++ side of formats_test.py: `list` prints the data formats, one per line; `read FROM TO`
// writes a file's numbers as floats to a .npy file, and prints their type.
#include <cstdio>
#include <exception>
#include <string_view>

#include "host/formats/data_formats.hpp"
#include "host/formats/npy.hpp"

namespace {

void read(const char* from, const char* to) {
  const sfnn::ArrayFile file = sfnn::open_array(from);
  std::vector<float> values(std::size_t(file.rows() * file.cols()));
  if (file.holds_bytes()) {
    std::vector<std::uint8_t> bytes(values.size());
    file.read(0, file.rows(), reinterpret_cast<std::byte*>(bytes.data()));
    values.assign(bytes.begin(), bytes.end());
  } else {
    file.read(0, file.rows(), reinterpret_cast<std::byte*>(values.data()));
  }
  sfnn::write_npy(to, {file.shape(), values});
  std::printf("%s\n", std::string(to_string(file.type())).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  try {
    if (command == "list" && argc == 2) {
      for (const sfnn::DataFormat& format : sfnn::data_formats())
        std::printf("%s\n", std::string(format.name).c_str());
      return 0;
    }
    if (command == "read" && argc == 4) {
      read(argv[2], argv[3]);
      return 0;
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  std::fprintf(stderr, "usage: formats_peer list | read FROM TO\n");
  return 2;
}
