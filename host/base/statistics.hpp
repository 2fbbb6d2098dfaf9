// Mean and spread of a few numbers, added in their order: the same bits whoever asks.
#pragma once

#include <cmath>
#include <optional>
#include <span>

namespace sfnn {

inline double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / double(values.size());
}

// The sample standard deviation, with n - 1; none of fewer than two.
inline std::optional<double> deviation_of(std::span<const double> values) {
  if (values.size() < 2) return std::nullopt;
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / double(values.size() - 1));
}

// Of the mean of independent values.
inline std::optional<double> standard_error_of(std::span<const double> values) {
  const auto deviation = deviation_of(values);
  return deviation ? std::optional(*deviation / std::sqrt(double(values.size()))) : std::nullopt;
}

}  // namespace sfnn
