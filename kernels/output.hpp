// Eq. (2) (3) and the unit-variance Gaussian: the three output distributions.
#pragma once

#include <cstdint>

namespace sfnn {

enum class Output : std::int32_t { softmax, bernoulli, gaussian };

constexpr double kLogTwoPi = 1.8378770664093453;

}  // namespace sfnn
