#include "host/train/health.hpp"

#include <fmt/format.h>

namespace sfnn {
namespace {

constexpr double kAllDecided = 0.999;  // share of p
constexpr double kMostStuck = 0.5;     // share of units
constexpr double kCollapsed = 1.001;   // a mean of numbers from 1 up: it is 1 for all examples

}  // namespace

std::vector<std::string> health_warnings(std::span<const LayerActivity> layers,
                                         double effective_particles, std::int64_t M) {
  std::vector<std::string> warnings;
  for (const LayerActivity& layer : layers) {
    if (layer.decided >= kAllDecided) {
      warnings.push_back(fmt::format(
          "hidden layer {}: all units have become deterministic (p within {} of 0 or 1)",
          layer.layer, kDecided));
    }
    if (layer.stuck > kMostStuck) {
      warnings.push_back(fmt::format(
          "hidden layer {}: most units are saturated (the same bit whatever the input); "
          "early epochs often recover, else try a lower train.learning_rate",
          layer.layer));
    }
  }
  if (M > 1 && effective_particles < kCollapsed) {
    warnings.push_back(fmt::format(
        "the particles have collapsed: one of {} has all the weight in every example", M));
  }
  return warnings;
}

}  // namespace sfnn
