// The errors are public: <sfnn/error.hpp>. Only main prints one and picks an exit code: 2 for
// ConfigError and MissingFileError, 1 for the others.
#pragma once

#include <sfnn/error.hpp>
#include <string>

namespace sfnn {

// Throws ConfigError with the sentence, for what the user asked for.
inline void require(bool holds, const std::string& sentence) {
  if (!holds) throw ConfigError(sentence);
}

}  // namespace sfnn
