#include <span>
#include <string>

#include "host/formats/safetensors.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace sfnn;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto file = fuzz::load_within<DataError>(
      (16 << 10) + 65 * size, [&] { return parse_safetensors(bytes, fuzz::kName); });
  if (!file) return 0;
  const std::string written = serialize(*file);
  const TensorFile again =
      parse_safetensors(std::as_bytes(std::span(written)), fuzz::kName, Checksums::required);
  fuzz::demand(serialize(again) == written, "what was loaded can be written and loaded again");
  return 0;
}
