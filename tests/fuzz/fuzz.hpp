// What every target demands of its loader, for any bytes: it loads them, or refuses them in one
// sentence, and takes no more memory than its header promises. The targets run under libFuzzer and,
// with the files kept of it, as plain tests (replay.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "host/base/error.hpp"
#include "tests/support/peak_memory.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace sfnn::fuzz {

constexpr const char* kName = "some.file";  // what the loaders call the bytes

// Ends the process, which libFuzzer and CTest both take for a finding.
inline void demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "demanded: %s\n", what);
  std::abort();
}

inline void demand_one_sentence(std::string_view message) {
  demand(message.starts_with(kName), "an error begins with the name of the file");
  demand(message.size() < 1000, "an error is short");
  for (const char ch : message)
    demand(static_cast<unsigned char>(ch) >= 0x20 && ch != 0x7F, "an error has no controls");
}

// What `load` returns, or nothing if it throws E. Any other exception ends the process.
template <class E, class Load>
auto load_within(std::size_t bound, Load&& load) -> std::optional<decltype(load())> {
  std::optional<decltype(load())> loaded;
  const std::size_t peak = peak_memory([&] {
    try {
      loaded = load();
    } catch (const E& error) {
      demand_one_sentence(error.what());
    }
  });
  if (peak > bound) std::fprintf(stderr, "%zu bytes taken, %zu promised\n", peak, bound);
  demand(peak <= bound, "no more memory than promised");
  return loaded;
}

}  // namespace sfnn::fuzz
