#include "host/base/duration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sfnn {

std::string duration(double seconds) {
  if (!std::isfinite(seconds)) return "?";
  const auto s = std::max<long>(0, std::lround(seconds));
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {:02} s", s / 60, s % 60);
  return fmt::format("{} h {:02} min", s / 3600, s % 3600 / 60);
}

}  // namespace sfnn
