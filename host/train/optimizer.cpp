#include "host/train/optimizer.hpp"

#include <array>

namespace sfnn {
namespace {

constexpr std::array<std::string_view, 1> kStateNames{"velocity"};

}  // namespace

std::span<const std::string_view> Optimizer::state_names() { return kStateNames; }

Optimizer::Optimizer(Model& model, const TrainOptions& options)
    : model_(model), momentum_(float(options.momentum)) {
  // The hidden layers' slots lie before the output's; at one rate all are one segment.
  const std::int64_t border = options.hidden_rate == 1 ? 0 : model.layout().V.offset;
  if (border > 0) segments_.push_back({0, border, options.hidden_rate});
  segments_.push_back({border, model.layout().size, 1});
  for (const std::string_view name : state_names())
    state_.push_back({name, Buffer(model.backend(), sizeof(float) * model.layout().size)});
}

void Optimizer::enqueue(const Parts& parts, std::int64_t N) {
  for (const Segment& segment : segments_) {
    model_.backend().update({.params = model_.params() + segment.begin,
                             .velocity = state_[0].values.floats() + segment.begin,
                             .parts = parts.from(segment.begin),
                             .size = segment.end - segment.begin,
                             .scale = float(segment.rate) / float(N),
                             .momentum = momentum_});
  }
}

std::size_t Optimizer::bytes() const {
  std::size_t bytes = 0;
  for (const Array& array : state_) bytes += array.values.bytes();
  return bytes;
}

}  // namespace sfnn
