#include <sstream>
#include <string>

#include "host/data/byte_reader.hpp"
#include "host/data/idx.hpp"
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
  fuzz::demand(array->values.size() == count * std::size_t(array->item_bytes),
               "as many values as the dimensions say");
  fuzz::demand(integers(*array).size() == count, "each value is an integer");
  return 0;
}
