// A bound on nesting in JSON that others made: the parser is recursive, and a text of a million
// brackets would overflow the stack.
#pragma once

#include <string_view>

namespace sfnn {

constexpr int kMaxJsonDepth = 16;  // what this program writes has depth four

// True if the text is nested too deeply to be parsed. Counted up to the first place that is not
// JSON, if there is one.
inline bool is_nested_too_deeply(std::string_view json) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char letter = json[i];
    if (in_string) {
      if (letter == '\\') ++i;
      in_string = letter != '"';
    } else if (letter == '"') {
      in_string = true;
    } else if (letter == '[' || letter == '{') {
      if (++depth > kMaxJsonDepth) return true;
    } else if (letter == ']' || letter == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace sfnn
