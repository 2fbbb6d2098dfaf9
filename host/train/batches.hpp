// The training examples, one mini-batch per step, in a new order each epoch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "host/backend/backend.hpp"
#include "host/base/function_ref.hpp"
#include "host/data/dataset.hpp"
#include "host/train/staged_data.hpp"

namespace sfnn {

class Batches {
 public:
  // batch: examples per step; the last step of an epoch has what is left. The examples must outlive
  // this.
  Batches(Backend&, const Examples&, std::int64_t batch, std::uint64_t seed);
  // What it takes of the backend's memory, besides the examples themselves.
  static std::size_t bytes(const Examples& examples) {
    return sizeof(std::int32_t) * std::size_t(examples.count);
  }

  std::int64_t steps_per_epoch() const { return (data_.count() + batch_ - 1) / batch_; }
  std::int64_t examples_of(std::int64_t step) const {
    return std::min(batch_, data_.count() - step % steps_per_epoch() * batch_);
  }
  // Examples that an epoch's first `steps` steps have seen.
  std::int64_t examples_in(std::int64_t steps) const {
    return steps < steps_per_epoch() ? steps * batch_ : data_.count();
  }

  // Calls enqueue(N) with the batch of this step at hand and the clock set: `rates`, step and
  // position. Nothing in it may depend on the step but through the clock: a backend that can
  // records it and replays it later.
  void run_step(std::int64_t step, const Clock& rates, FunctionRef<void(std::int64_t N)> enqueue);
  const StagedData& data() const { return data_; }
  std::size_t bytes() const { return order_.bytes(); }

 private:
  void begin_epoch(std::int64_t epoch);

  Backend& backend_;
  std::int64_t batch_;
  std::uint64_t seed_;
  StagedData data_;
  Buffer order_;                      // [count] the epoch's permutation
  std::int64_t shuffled_epoch_ = -1;  // whose order it is
  std::unique_ptr<StepRunner> runner_;
};

}  // namespace sfnn
