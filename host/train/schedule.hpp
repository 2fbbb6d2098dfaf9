// The learning rate of each step: warm-up, then what the schedule says.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "host/base/names.hpp"

namespace sfnn {

enum class ScheduleKind {
  paper,     // linear down to zero
  constant,  // the peak, to the end
  cosine,    // half a cosine down to zero
  steps,     // the peak, multiplied by a factor at given steps
};
inline constexpr Names<ScheduleKind, 4> kSchedules{{{ScheduleKind::paper, "paper"},
                                                    {ScheduleKind::constant, "constant"},
                                                    {ScheduleKind::cosine, "cosine"},
                                                    {ScheduleKind::steps, "steps"}}};
constexpr const auto& names_of(ScheduleKind) { return kSchedules; }

// One that does has nothing left after its last step: training longer needs a new tail.
constexpr bool ends_in_zero(ScheduleKind kind) {
  return kind == ScheduleKind::paper || kind == ScheduleKind::cosine;
}

struct Schedule {
  ScheduleKind kind = ScheduleKind::paper;
  double max_rate = 0.1;
  std::int64_t warmup_steps = 0, total_steps = 0;
  std::vector<std::int64_t> drops = {};  // steps: from each of them on the factor applies once more
  double drop_factor = 0.1;
  std::int64_t first_step = 0;  // of the tail that it is for; 0: the whole run

  // The rate of step t = first_step, first_step + 1, ...: the maximum is reached by the last
  // warm-up step; a schedule that ends in zero reaches it just after the last step.
  double rate(std::int64_t t) const {
    const std::int64_t since = t - first_step;
    if (since < warmup_steps) return max_rate * double(since + 1) / double(warmup_steps);
    const auto length = double(std::max<std::int64_t>(1, total_steps - first_step - warmup_steps));
    switch (kind) {
      case ScheduleKind::paper:
        return max_rate * double(total_steps - t) / length;
      case ScheduleKind::constant:
        return max_rate;
      case ScheduleKind::cosine:
        return max_rate * 0.5 *
               (1 + std::cos(std::numbers::pi * double(since - warmup_steps) / length));
      case ScheduleKind::steps:
        return max_rate * std::pow(drop_factor, double(drops_until(t)));
    }
    return max_rate;
  }

 private:
  std::int64_t drops_until(std::int64_t t) const {
    return std::ranges::count_if(drops, [t](std::int64_t drop) { return drop <= t; });
  }
};

}  // namespace sfnn
