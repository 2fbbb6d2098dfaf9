// Expectations over everything that a small network can draw, summed and not sampled.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tests/support/reference.hpp"

namespace sfnn {

constexpr std::int64_t kMaxEnumeratedBits = 18;

// Calls fn once with each assignment of the stochastic units of `rows` rows. Throws ShapeError
// if there are more than 2^kMaxEnumeratedBits of them.
void for_each_assignment(const NetworkSpec&, std::int64_t rows,
                         const std::function<void(const LayerBits&)>& fn);

// One thing that a particle may draw.
struct Outcome {
  double log_p = 0;  // log P(h | x)
  double log_w = 0;  // log P(y | h)
};

// All that a particle of example n may draw.
std::vector<Outcome> enumerate_particle(const NetworkSpec&, const Vector& params,
                                        const ReferenceBatch&, std::int64_t n);

// Eq. (4): log P(y|x) = log sum_h P(y|h) P(h|x)
double exact_log_likelihood(const std::vector<Outcome>&);

// E[f(C_hat_M)] over all that M particles may draw.
double expected_C_hat(
    const std::vector<Outcome>&, std::int64_t M,
    const std::function<double(double)>& f = [](double C_hat) { return C_hat; });

// Mean and variance of the batch's gradient, entry by entry. Examples draw independently and their
// gradients add up, so each is enumerated by itself.
struct GradientMoments {
  Vector mean, variance;
};
GradientMoments enumerate_gradient(const NetworkSpec&, const Vector& params, const ReferenceBatch&,
                                   const ReferenceEstimator&);

// Example n of a batch, alone.
ReferenceBatch single_example(const NetworkSpec&, const ReferenceBatch&, std::int64_t n);

}  // namespace sfnn
