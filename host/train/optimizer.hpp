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
  // The networks must outlive this. With options.ema each of them gets its average.
  Optimizer(StepNetworks&, const TrainOptions&);
  // What it will take of the backend's memory for a network, besides what state_arrays lists.
  static std::size_t bytes(const NetworkSpec&, const TrainOptions&, const std::string& network);

  // What the update reads from the clock in this step; the rest of the clock is left alone.
  Clock rates(std::int64_t step, double learning_rate) const;
  // Enqueues the update of every network by a step's gradient: the sum of the parts over N
  // examples. sums: [2], as GradientNormArgs has them.
  void enqueue(const Parts&, std::int64_t N, double* sums);

  // The array of this name that belongs to a network; null: it has none.
  Buffer* array(std::string_view network, std::string_view name);
  std::size_t bytes() const;

 private:
  struct Trained {
    StepNetworks::Network* network;
    Buffer segments;             // [UpdateSegment]
    std::vector<Buffer> arrays;  // by the optimiser's row
    std::int64_t first_run = 0;  // of its runs of squares, among those of all networks
  };
  void enqueue_squares(const Parts&, std::int64_t N);
  void enqueue_norm(double* sums);
  void enqueue_updates(const Parts&, std::int64_t N);

  TrainOptions options_;
  const OptimizerRow& row_;
  std::vector<Trained> trained_;
  std::int64_t square_runs_ = 0;
  Buffer square_sums_, clip_;  // clip_: empty unless gradients are clipped
};

}  // namespace sfnn
