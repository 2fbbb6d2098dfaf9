// From a gradient to a step. Which arrays an optimiser keeps is in kernels/optimizers.hpp, what it
// does with them in kernels/update.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/backend/backend.hpp"
#include "host/train/step_networks.hpp"
#include "host/train/train_options.hpp"

namespace sfnn {

class Optimizer {
 public:
  // The networks must outlive this.
  Optimizer(StepNetworks&, const TrainOptions&);

  // Enqueues the update of every network by a step's gradient: the sum of the parts over N
  // examples. The learning rate comes from the clock.
  void enqueue(const Parts&, std::int64_t N);

  // The array of this name that belongs to a network; null: it has none.
  Buffer* array(std::string_view network, std::string_view name);

 private:
  // A run of a network's parameters that learn at one rate.
  struct Segment {
    std::int64_t begin, end;
    double rate;  // times the learning rate
  };
  struct Trained {
    StepNetworks::Network* network;
    std::vector<Segment> segments;
    std::vector<Buffer> arrays;  // by the optimiser's row
  };

  const OptimizerRow& row_;
  float momentum_;
  std::vector<Trained> trained_;
};

}  // namespace sfnn
