#include "host/train/batches.hpp"

#include "kernels/philox.hpp"

namespace sfnn {

Batches::Batches(Backend& backend, const Examples& examples, std::int64_t batch, std::uint64_t seed)
    : backend_(backend),
      batch_(std::min(batch, examples.count)),
      seed_(seed),
      data_(backend, examples, batch_),
      order_(backend, bytes(examples)),
      runner_(backend.make_step_runner()) {}

void Batches::begin_epoch(std::int64_t epoch) {
  auto* order = reinterpret_cast<std::int32_t*>(order_.data());
  backend_.shuffle({{seed_, std::uint32_t(epoch), kSitePermutation}, data_.count(), order});
  data_.reorder(order);
  shuffled_epoch_ = epoch;
}

void Batches::run_step(std::int64_t step, const Clock& rates,
                       FunctionRef<void(std::int64_t N)> enqueue) {
  const std::int64_t epoch = step / steps_per_epoch(), in_epoch = step % steps_per_epoch();
  if (epoch != shuffled_epoch_) begin_epoch(epoch);
  const std::int64_t N = examples_of(step);
  Clock clock = rates;
  clock.step = std::uint32_t(step);
  clock.first = in_epoch * batch_;
  backend_.set_clock(clock);
  const Range range(backend_, "step");
  const int memory = data_.begin_step(in_epoch);
  // A recording for each batch size and window slot.
  runner_->run(2 * N + memory, [&] { enqueue(N); });
  data_.end_step();
}

}  // namespace sfnn
