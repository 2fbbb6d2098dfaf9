#include <string_view>

#include "host/run/config.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace sfnn;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = fuzz::load_within<ConfigError>((64 << 10) + 512 * size,
                                                     [&] { return from_toml(text, fuzz::kName); });
  if (!config) return 0;
  fuzz::demand(differences(from_toml(to_toml(*config), fuzz::kName), *config).empty(),
               "what was loaded can be written and loaded again");
  try {
    config->validate();
  } catch (const ConfigError&) {
  }
  return 0;
}
