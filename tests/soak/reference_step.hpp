// One step of training in double, from the engine's own state, and how far the engine's may be from
// it.
#pragma once

#include <string>

#include "host/data/dataset.hpp"
#include "host/train/trainer.hpp"
#include "tests/support/reference.hpp"

namespace sfnn::soak {

struct Case {
  NetworkSpec spec;
  TrainOptions options = {};
  DataSet data = {};
};

struct StepCheck {
  std::string error;  // empty: they agree
  bool tie = false;   // a draw fell within rounding of its probability: the step says nothing
};

// `trainer` has made the step that follows `before`.
StepCheck check_step(const Case&, Trainer& trainer, const TrainState& before);

}  // namespace sfnn::soak
