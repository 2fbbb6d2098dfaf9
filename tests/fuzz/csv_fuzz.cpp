#include <numeric>
#include <string>

#include "host/formats/csv.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace sfnn;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemorySource source(fuzz::kName, std::vector<std::uint8_t>(data, data + size));
  const auto table =
      fuzz::load_within<DataError>((1 << 20) + (16 + 64) * size, [&] { return parse_csv(source); });
  if (!table) return 0;
  fuzz::demand(std::size_t(table->rows() * table->cols()) == table->values.size(),
               "every line has all columns");
  std::vector<std::int64_t> columns(table->names.size());
  std::iota(columns.begin(), columns.end(), 0);
  const ArrayFile file = array_of(*table, columns);
  std::vector<std::byte> values(file.row_bytes() * std::size_t(file.rows()));
  file.read(0, file.rows(), values.data());
  return 0;
}
