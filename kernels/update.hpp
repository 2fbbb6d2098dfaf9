// One parameter's step, for every optimiser.
#pragma once

#include <cstdint>

#include "kernels/hd.hpp"
#include "kernels/update_args.hpp"

namespace sfnn {

SFNN_HD void step_at(const UpdateArgs& p, std::int64_t i, float learning_rate) {
  const float g = p.scale * part_sum(p.parts, i);
  switch (p.optimizer) {
    case OptimizerKind::sgd: {
      const float v = p.momentum * p.arrays[0][i] + g;
      p.arrays[0][i] = v;
      p.params[i] += learning_rate * v;
      return;
    }
  }
}

}  // namespace sfnn
