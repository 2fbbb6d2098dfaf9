// What can go wrong, by whose fault. Everything throws one of these; only main prints and picks an
// exit code.
#pragma once

#include <stdexcept>
#include <string>

namespace sfnn {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct ConfigError : Error {  // the user asked for something that cannot be: exit code 2
  using Error::Error;
};

struct DataError : Error {  // a file is missing, damaged or not what it should be: exit code 1
  using Error::Error;
};

struct ShapeError : Error {  // operands that do not fit: a bug in the caller
  using Error::Error;
};

}  // namespace sfnn
