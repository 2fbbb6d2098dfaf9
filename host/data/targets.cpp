#include "host/data/targets.hpp"

#include <fmt/format.h>

#include <cmath>

namespace sfnn {
namespace {

constexpr float kLargestCount = 16777216;  // 2^24: up to here a float holds every whole number

}  // namespace

bool is_target(Output output, std::int64_t D_out, float y) {
  switch (output) {
    case Output::softmax:
      return y >= 0 && y < float(D_out) && y == std::floor(y);
    case Output::bernoulli:
      return y >= 0 && y <= 1;
    case Output::gaussian:
    case Output::gaussian_learnt:
    case Output::gaussian_each:
    case Output::gaussian_predicted:
      return std::isfinite(y);
    case Output::poisson:
      return y >= 0 && y <= kLargestCount && y == std::floor(y);
  }
  return false;
}

bool are_fractions(Output output) {
  switch (output) {
    case Output::bernoulli:
      return true;
    case Output::softmax:
    case Output::gaussian:
    case Output::gaussian_learnt:
    case Output::gaussian_each:
    case Output::gaussian_predicted:
    case Output::poisson:
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
    case Output::gaussian_learnt:
    case Output::gaussian_each:
    case Output::gaussian_predicted:
      return "a finite number";
    case Output::poisson:
      return fmt::format("a whole number from 0 to {:.0f}", kLargestCount);
  }
  return "";
}

}  // namespace sfnn
