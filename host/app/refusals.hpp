// Answers to a command line that is not understood: one sentence, with what may have been meant.
#pragma once

#include <CLI/CLI.hpp>

namespace sfnn {

// Both throw ConfigError.
[[noreturn]] void refuse_extras(const CLI::App&, int argc, char** argv);  // what no option took
[[noreturn]] void refuse(const CLI::App&, const CLI::ParseError&);

}  // namespace sfnn
