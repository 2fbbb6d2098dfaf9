// UTF-8: its characters, and whether text is safe in TOML, JSON and on a terminal.
#pragma once

#include <algorithm>
#include <string_view>

namespace sfnn {

struct Utf8Char {
  unsigned point = 0;
  int length = 0;  // bytes; 0: not well-formed
};

// The character at text[at]. Overlong forms and surrogates are not well-formed.
inline Utf8Char utf8_char(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned lead = byte(at);
  const int length = lead < 0x80         ? 1
                     : lead >> 5 == 0x6  ? 2
                     : lead >> 4 == 0xE  ? 3
                     : lead >> 3 == 0x1E ? 4
                                         : 0;
  if (length == 0) return {};
  unsigned point = length == 1 ? lead : lead & (0x7Fu >> length);
  for (int k = 1; k < length; ++k) {
    if (byte(at + k) >> 6 != 0x2) return {};
    point = point << 6 | (byte(at + k) & 0x3F);
  }
  constexpr unsigned kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = point >= 0xD800 && point < 0xE000;
  if (point < kSmallest[length] || point > 0x10FFFF || surrogate) return {};
  return {point, length};
}

// True if a byte is not the first of its character.
inline bool continues_letter(char byte) { return (byte & 0xC0) == 0x80; }

inline std::size_t letters(std::string_view text) {
  return text.size() - std::count_if(text.begin(), text.end(), continues_letter);
}

// Well-formed and without control characters.
inline bool is_printable_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto [point, length] = utf8_char(text, i);
    if (length == 0 || point < 0x20 || (point >= 0x7F && point < 0xA0)) return false;
    i += length;
  }
  return true;
}

}  // namespace sfnn
