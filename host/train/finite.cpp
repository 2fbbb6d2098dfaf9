#include "host/train/finite.hpp"

#include <bit>
#include <cstdint>

namespace sfnn {

// Tests the exponents without a branch, so that the loop vectorises.
bool all_finite(std::span<const float> values) {
  constexpr std::uint32_t kExponent = 0x7F800000;
  std::uint32_t bad = 0;
  for (const float value : values)
    bad |= std::uint32_t((std::bit_cast<std::uint32_t>(value) & kExponent) == kExponent);
  return bad == 0;
}

std::vector<std::string> not_finite_tensors(const ParamLayout& layout,
                                            std::span<const float> flat) {
  std::vector<std::string> names;
  for (const ParamSlot& slot : layout.slots()) {
    if (!all_finite(flat.subspan(slot.offset, slot.size()))) names.push_back(slot.name);
  }
  return names;
}

}  // namespace sfnn
