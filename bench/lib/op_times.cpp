#include "bench/lib/op_times.hpp"

#include "bench/lib/clock.hpp"
#include "kernels/args.hpp"

namespace sfnn::bench {

void OpTimes::begin(const OpCall& call) {
  op_ = call.name;
  const auto* multiply = call.as<MultiplyArgs>();
  const auto* outer = call.as<AccumulateOuterArgs>();
  if ((multiply && multiply->z.is_bits) || (outer && outer->z.is_bits)) op_ += "_bits";
  if (const auto* output = call.as<OutputGradArgs>()) {
    rows_ += output->of.tile.rows();
    live_rows_ += output->rows.count;
  }
  start_ = cpu_ms();
}

void OpTimes::end() { ms_[op_] += cpu_ms() - start_; }

}  // namespace sfnn::bench
