// Text that may go into TOML, JSON and a terminal without harm.
#pragma once

#include <string_view>

namespace sfnn {

// Well-formed UTF-8 (no overlong forms, no surrogates) without control characters.
inline bool is_printable_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t at) {
      return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u;
    };
    const unsigned lead = byte(i);
    const int length = lead < 0x80         ? 1
                       : lead >> 5 == 0x6  ? 2
                       : lead >> 4 == 0xE  ? 3
                       : lead >> 3 == 0x1E ? 4
                                           : 0;
    if (length == 0) return false;
    unsigned point = length == 1 ? lead : lead & (0x7Fu >> length);
    for (int k = 1; k < length; ++k) {
      if (byte(i + k) >> 6 != 0x2) return false;
      point = point << 6 | (byte(i + k) & 0x3F);
    }
    constexpr unsigned kSmallest[] = {0, 0x20, 0x80, 0x800, 0x10000};
    const bool control = point >= 0x7F && point < 0xA0,
               surrogate = point >= 0xD800 && point < 0xE000;
    if (point < kSmallest[length] || point > 0x10FFFF || control || surrogate) return false;
    i += length;
  }
  return true;
}

}  // namespace sfnn
