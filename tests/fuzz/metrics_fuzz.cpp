#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "host/run/metrics.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace sfnn;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto lines = fuzz::load_within<DataError>((16 << 10) + 64 * size,
                                                  [&] { return parse_metrics(text, fuzz::kName); });
  if (!lines) return 0;
  std::string written;
  for (const MetricsLine& line : *lines) written += line.dump() + '\n';
  fuzz::demand(parse_metrics(written, fuzz::kName) == *lines,
               "what was loaded can be written and loaded again");
  return 0;
}
