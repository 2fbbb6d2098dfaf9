// From a gradient to a step: momentum SGD.
//
// An optimiser owns named arrays, each laid out as the parameters. Their names come from
// `state_names` before any of them exists; the memory plan, checkpoints, resuming and the report of
// numbers that are not finite all follow from them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "host/backend/backend.hpp"
#include "host/model/model.hpp"
#include "host/train/batch_gradient.hpp"
#include "host/train/train_options.hpp"

namespace sfnn {

class Optimizer {
 public:
  struct Array {
    std::string_view name;
    Buffer values;  // as the parameters; zero at first
  };

  static std::span<const std::string_view> state_names();

  // The model must outlive this.
  Optimizer(Model&, const TrainOptions&);

  // Enqueues the update by a step's gradient, which is the sum of the parts over N examples. The
  // learning rate comes from the clock.
  void enqueue(const Parts&, std::int64_t N);

  std::span<Array> state() { return state_; }
  std::size_t bytes() const;

 private:
  // A run of parameters that learn at one rate.
  struct Segment {
    std::int64_t begin, end;
    double rate;  // times the learning rate
  };

  Model& model_;
  float momentum_;
  std::vector<Segment> segments_;
  std::vector<Array> state_;
};

}  // namespace sfnn
