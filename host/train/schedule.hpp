// The learning rate: linear up to its maximum over the warm-up, then linear down to zero.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sfnn {

struct Schedule {
  double max_rate = 0.1;
  std::int64_t warmup_steps = 0, total_steps = 0;

  // The rate of step t = 0, 1, ...: the maximum is reached by the last warm-up step, zero just
  // after the last step.
  double rate(std::int64_t t) const {
    if (t < warmup_steps) return max_rate * double(t + 1) / double(warmup_steps);
    return max_rate * double(total_steps - t) /
           double(std::max<std::int64_t>(1, total_steps - warmup_steps));
  }
};

}  // namespace sfnn
