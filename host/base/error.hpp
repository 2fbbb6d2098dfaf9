// The kinds of errors. Everything throws one of these; only main prints and picks an exit code.
#pragma once

#include <stdexcept>
#include <string>

namespace sfnn {

// Messages quote files that others made, and are shown on terminals: a control character (ASCII, or
// U+0080 .. U+009F in UTF-8) becomes '?'.
inline std::string without_controls(std::string text) {
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

struct Error : std::runtime_error {
  explicit Error(const std::string& message) : std::runtime_error(without_controls(message)) {}
};

struct ConfigError : Error {  // the user asked for something impossible: exit code 2
  using Error::Error;
};

struct DataError : Error {  // a file is missing, damaged or not what it should be: exit code 1
  using Error::Error;
};

// A file cannot be written (a full disk, a closed directory): exit code 1.
struct SaveError : Error {
  using Error::Error;
};

struct ShapeError : Error {  // operands that do not fit: a bug in the caller
  using Error::Error;
};

// Throws ConfigError with the sentence, for what the user asked for.
inline void require(bool holds, const std::string& sentence) {
  if (!holds) throw ConfigError(sentence);
}

}  // namespace sfnn
