// The C++ side of npy_test.py: `copy FROM TO` reads a .npy file and writes what it has read.
#include <cstdio>
#include <exception>
#include <string_view>

#include "host/formats/npy.hpp"

int main(int argc, char** argv) {
  if (argc != 4 || std::string_view(argv[1]) != "copy") {
    std::fprintf(stderr, "usage: npy_peer copy FROM TO\n");
    return 2;
  }
  try {
    sfnn::write_npy(argv[3], sfnn::read_npy(argv[2]));
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
