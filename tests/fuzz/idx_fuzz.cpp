#include <sstream>
#include <string>

#include "host/formats/byte_reader.hpp"
#include "host/formats/idx.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace sfnn;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  const bool packed = size >= 2 && data[0] == 0x1f && data[1] == 0x8b;
  const std::size_t bound = (1 << 20) + 2 * (packed ? 1032 * size : size);
  const auto array =
      fuzz::load_within<DataError>(bound, [&] { return parse_idx(in, fuzz::kName, kAnyRank); });
  if (!array) return 0;
  std::size_t count = 1;
  for (const std::int64_t dim : array->dims) {
    fuzz::demand(dim > 0, "dimensions are positive");
    count *= std::size_t(dim);
  }
  const auto decoded = [&]() -> std::size_t {
    switch (array->type) {
      case IdxType::float32:
        return floats(*array).size();
      case IdxType::float64:
        return doubles(*array).size();
      default:
        return integers(*array).size();
    }
  };
  fuzz::demand(decoded() == count, "as many values as the dimensions say");
  return 0;
}
