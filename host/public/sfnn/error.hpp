// What can go wrong, by whose fault. Everything in the library throws one of these or, if memory is
// short, std::bad_alloc.
#pragma once

#include <stdexcept>
#include <string>

namespace sfnn {

struct Error : std::runtime_error {
  explicit Error(const std::string& message) : std::runtime_error(without_controls(message)) {}

  // Messages quote files that others made, and are shown on terminals: a control character (ASCII,
  // or U+0080 .. U+009F in UTF-8) becomes '?'.
  static std::string without_controls(std::string text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      const bool after_c2 = i > 0 && static_cast<unsigned char>(text[i - 1]) == 0xC2;
      if (byte < 0x20 || byte == 0x7F || (after_c2 && byte < 0xA0)) {
        text[i] = '?';
        if (after_c2) text[i - 1] = '?';
      }
    }
    return text;
  }
};

struct ConfigError : Error {  // the caller asked for something that cannot be
  using Error::Error;
};

struct DataError : Error {  // a file or array is missing, damaged or not what it should be
  using Error::Error;
};

struct SaveError : Error {  // a file cannot be written: a full disk, a closed directory
  using Error::Error;
};

struct ShapeError : Error {  // operands that do not fit: a bug in the caller
  using Error::Error;
};

}  // namespace sfnn
