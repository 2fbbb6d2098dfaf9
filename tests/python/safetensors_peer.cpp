// The C++ side of safetensors_test.py: `write FILE` leaves a known checkpoint-like file, `read
// FILE` checks the same tensors as Python wrote them.
#include <cstdio>
#include <exception>
#include <string_view>

#include "host/formats/safetensors.hpp"

int main(int argc, char** argv) {
  using sfnn::TensorFile;
  const TensorFile known{{{"layer1.W_s", {2, 3}, {0, 1, 2, 0.1f, -1e-45f, 3e38f}},
                          {"layer1.b_s", {3}, {-1, -2, -3}},
                          {"nothing", {0, 3}, {}}},
                         {{"note", "caf\u00e9 \"quoted\"\n"}}};
  try {
    const std::string_view mode = argc == 3 ? argv[1] : "";
    if (mode == "write") {
      sfnn::write_safetensors(argv[2], known);
      return 0;
    }
    if (mode == "read") {
      const TensorFile read = sfnn::read_safetensors(argv[2]);
      bool same = read.metadata == known.metadata && read.tensors.size() == known.tensors.size();
      for (const sfnn::NamedTensor& tensor : known.tensors) {
        const sfnn::NamedTensor* found = read.find(tensor.name);
        same = same && found != nullptr && *found == tensor;
      }
      if (!same) std::fprintf(stderr, "%s: other tensors than were expected\n", argv[2]);
      return same ? 0 : 1;
    }
    std::fprintf(stderr, "usage: safetensors_peer write|read FILE\n");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
  }
  return 2;
}
