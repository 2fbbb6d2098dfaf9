#include <span>
#include <string>

#include "host/formats/npy.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace sfnn;

// As data: any type of number, all of it read.
void open_and_read(const std::uint8_t* data, std::size_t size) {
  const auto source =
      std::make_shared<MemorySource>(fuzz::kName, std::vector<std::uint8_t>(data, data + size));
  const auto file = fuzz::load_within<DataError>(256 << 10, [&] { return open_npy(source); });
  if (!file || file->rows() == 0) return;
  std::vector<std::byte> values(file->row_bytes() * std::size_t(file->rows()));
  file->read(0, file->rows(), values.data());
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  open_and_read(data, size);
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto array = fuzz::load_within<DataError>((256 << 10) + size,
                                                  [&] { return parse_npy(bytes, fuzz::kName); });
  if (!array) return 0;
  std::int64_t product = 1;  // of what callers multiply: UBSan watches
  for (const std::int64_t dim : array->shape) product *= dim;
  fuzz::demand(product >= 0, "dimensions are not negative");
  const std::string written = serialize_npy(*array);
  fuzz::demand(serialize_npy(parse_npy(std::as_bytes(std::span(written)), fuzz::kName)) == written,
               "what was loaded can be written and loaded again");
  return 0;
}
