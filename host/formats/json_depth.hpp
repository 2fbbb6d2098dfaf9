// JSON that others made is walked by functions that call themselves: a text of a million brackets
// would take the stack with it.
#pragma once

#include <string_view>

namespace sfnn {

constexpr int kMaxJsonDepth = 16;  // what this program writes has four

// Is an array or object of the text within so many others that it must not be parsed? Counted up to
// where it stops being JSON, if it does.
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
