#include "host/data/targets.hpp"

#include <fmt/format.h>

#include <cmath>

namespace sfnn {

bool is_target(Output output, std::int64_t D_out, float y) {
  switch (output) {
    case Output::softmax:
      return y >= 0 && y < float(D_out) && y == std::floor(y);
    case Output::bernoulli:
      return y >= 0 && y <= 1;
    case Output::gaussian:
      return std::isfinite(y);
  }
  return false;
}

bool are_fractions(Output output) {
  switch (output) {
    case Output::bernoulli:
      return true;
    case Output::softmax:
    case Output::gaussian:
      return false;
  }
  return false;
}

std::string wanted_target(Output output, std::int64_t D_out) {
  switch (output) {
    case Output::softmax:
      return fmt::format("a class from 0 to {}", D_out - 1);
    case Output::bernoulli:
      return "a number in 0 .. 1";
    case Output::gaussian:
      return "a finite number";
  }
  return "";
}

}  // namespace sfnn
