#pragma once

#include "host/train/trainer.hpp"

namespace sfnn {

// The state after step number `steps`.
inline TrainState train(Trainer& trainer, std::int64_t steps) {
  while (trainer.step() < steps) trainer.train_step();
  return trainer.state();
}

}  // namespace sfnn
