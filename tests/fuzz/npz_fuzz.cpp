#include <string>

#include "host/formats/npz.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace sfnn;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kExpansion = 1032;  // the most that deflate unpacks
  const auto source =
      std::make_shared<MemorySource>(fuzz::kName, std::vector<std::uint8_t>(data, data + size));
  const auto members =
      fuzz::load_within<DataError>((1 << 20) + 8 * size, [&] { return npz_members(*source); });
  if (!members) return 0;
  for (const NpzMember& member : *members) {
    const auto file = fuzz::load_within<DataError>((1 << 20) + kExpansion * size,
                                                   [&] { return open_npz(source, member); });
    if (!file || file->rows() == 0) continue;
    std::vector<std::byte> row(file->row_bytes());
    file->read(file->rows() - 1, 1, row.data());
  }
  return 0;
}
