// Comparison with a tolerance that is computed, not guessed.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/reference.hpp"

namespace sfnn {

// The rounding error of a sum of `terms` terms whose absolute values add up to `magnitude` is at
// most about terms * epsilon * magnitude; the terms' own errors are of the same order.
inline double float_tolerance(double terms, double magnitude) {
  return 4 * (terms + 8) * double(std::numeric_limits<float>::epsilon()) * magnitude +
         double(std::numeric_limits<float>::min());
}

inline double double_tolerance(double terms, double magnitude) {
  return 4 * (terms + 8) * std::numeric_limits<double>::epsilon() * magnitude +
         std::numeric_limits<double>::min();
}

// |actual[i] - expected[i]| <= tolerance(i) everywhere; reports the entry that misses by most.
template <class Actual, class Tolerance>
void expect_close(const Actual& actual, const Vector& expected, const Tolerance& tolerance,
                  const std::string& what) {
  ASSERT_EQ(std::size_t(actual.size()), expected.size()) << what;
  double worst = 1;
  std::size_t at = expected.size();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    double miss = std::abs(double(actual[i]) - expected[i]) / tolerance(i);
    if (std::isnan(miss)) miss = std::numeric_limits<double>::infinity();
    if (miss > worst) worst = miss, at = i;
  }
  if (at == expected.size()) return;
  ADD_FAILURE() << what << "[" << at << "] = " << double(actual[at]) << ", expected "
                << expected[at] << ": " << worst << " times the tolerance of " << tolerance(at);
}

template <class Actual>
void expect_close(const Actual& actual, const Vector& expected, double tolerance,
                  const std::string& what) {
  expect_close(
      actual, expected, [=](std::size_t) { return tolerance; }, what);
}

// The longest chain of additions behind one entry of a gradient: rows, and the width of every
// layer.
inline double gradient_terms(const NetworkSpec& spec, const ReferenceBatch& batch) {
  std::int64_t terms = batch.N * batch.M + spec.D_in + spec.logits();
  for (const LayerSpec& layer : spec.hidden) terms += layer.n_s + layer.n_d;
  return double(terms);
}

// A gradient summed in float against the reference's, tensor by tensor.
template <class Actual>
void expect_gradient_close(const Actual& actual, const NetworkSpec& spec,
                           const ReferenceBatch& batch, const ReferenceResult& reference) {
  ASSERT_EQ(std::size_t(actual.size()), reference.gradient.size());
  const double terms = gradient_terms(spec, batch);
  for (const ParamSlot& slot : ParamLayout(spec).slots()) {
    const auto of_slot = [&](const auto& flat) {
      return Vector(flat.begin() + slot.offset, flat.begin() + slot.offset + slot.size());
    };
    const Vector magnitude = of_slot(reference.gradient_magnitude);
    expect_close(
        of_slot(actual), of_slot(reference.gradient),
        [&](std::size_t i) { return float_tolerance(terms, magnitude[i]); },
        "gradient of " + slot.name);
  }
}

}  // namespace sfnn
