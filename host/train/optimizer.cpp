#include "host/train/optimizer.hpp"

#include <cmath>

#include "host/train/train_state.hpp"

namespace sfnn {
namespace {

double rate_of(const ParamSlot& slot, const ParamLayout& layout, const TrainOptions& options) {
  switch (slot.group) {
    case ParamGroup::weight:
    case ParamGroup::bias:
      return options.hidden_rate;
    case ParamGroup::output:
    case ParamGroup::output_bias:
      return 1;
    case ParamGroup::scale:
      return options.shared_sigma_rate(layout.c.cols / slot.cols);
  }
  return 1;
}

double decay_of(ParamGroup group, const TrainOptions& options) {
  switch (group) {
    case ParamGroup::weight:
    case ParamGroup::output:
      return options.weight_decay;
    case ParamGroup::bias:
    case ParamGroup::output_bias:
      return options.decay_biases ? options.weight_decay : 0;
    case ParamGroup::scale:
      return 0;
  }
  return 0;
}

// Parameters that learn alike and follow each other are one segment, the gaps between them
// included. Heads lie side by side in a row of V, so that one of sigmas makes segments of each.
std::vector<UpdateSegment> segments_of(const std::string& network, const ParamLayout& layout,
                                       const TrainOptions& options) {
  std::vector<UpdateSegment> segments;
  const double rate_of_R = options.proposal.learning_rate.value_or(options.learning_rate) /
                           (options.learning_rate > 0 ? options.learning_rate : 1);
  const auto begin = [&](std::int64_t offset, double rate, double decay) {
    const UpdateSegment segment{.end = layout.size, .rate = float(rate), .decay = float(decay)};
    if (!segments.empty()) {
      if (segments.back().rate == segment.rate && segments.back().decay == segment.decay) return;
      segments.back().end = offset;
    }
    segments.push_back(segment);
  };
  for (const ParamSlot& slot : layout.slots()) {
    const double rate = network == kModelR ? rate_of_R : rate_of(slot, layout, options);
    const double decay = decay_of(slot.group, options);
    begin(slot.offset, rate, decay);
    if (slot.sigma_cols == 0) continue;
    for (std::int64_t row = 0; row < slot.rows; ++row) {
      const std::int64_t first = slot.offset + row * slot.cols;
      begin(first, rate, decay);
      begin(first + slot.cols - slot.sigma_cols, options.sigma_head_rate(layout.V.rows), decay);
    }
  }
  return segments;
}

// 1 - decay^t, accurate for a decay close to one.
double kept_out(double decay, double t) { return -std::expm1(t * std::log(decay)); }

}  // namespace

Optimizer::Optimizer(StepNetworks& networks, const TrainOptions& options)
    : options_(options), row_(row_of(options.optimizer)) {
  Backend& backend = networks.P().model.backend();
  for (StepNetworks::Network& network : networks) {
    const ParamLayout& layout = network.model.layout();
    const std::vector<UpdateSegment> segments = segments_of(network.name, layout, options);
    const auto bytes = std::as_bytes(std::span(segments));
    Trained& trained = trained_.emplace_back(Trained{
        .network = &network, .segments = {backend, bytes.size()}, .first_run = square_runs_});
    backend.upload(bytes, trained.segments.data());
    for (int a = 0; a < row_.arrays(); ++a)
      trained.arrays.emplace_back(backend, sizeof(float) * layout.size);
    if (options.ema > 0) network.average = network.model.with_own_params();
    square_runs_ += square_runs(layout.size);
  }
  square_sums_ = Buffer(backend, sizeof(float) * square_runs_);
  if (options.clip_norm > 0) clip_ = Buffer(backend, sizeof(float));
}

std::size_t Optimizer::bytes(const NetworkSpec& spec, const TrainOptions& options,
                             const std::string& network) {
  const ParamLayout layout(spec);
  const bool clips = network == kModelP && options.clip_norm > 0;  // one factor for all networks
  return sizeof(UpdateSegment) * segments_of(network, layout, options).size() +
         sizeof(float) * (square_runs(layout.size) + (clips ? 1 : 0));
}

std::size_t Optimizer::bytes() const {
  std::size_t bytes = square_sums_.bytes() + clip_.bytes();
  for (const Trained& trained : trained_) bytes += trained.segments.bytes();
  return bytes;
}

// Moments and average begin at zero and would be too small at first; the weights of the terms in
// them add up to 1 - decay^t.
Clock Optimizer::rates(std::int64_t step, double learning_rate) const {
  const auto t = double(step + 1);
  Clock clock{.learning_rate = float(learning_rate)};
  if (row_.is_adam()) {
    clock.m_scale = float(1 / kept_out(options_.beta1, t));
    clock.v_scale = float(1 / std::sqrt(kept_out(options_.beta2, t)));
  }
  if (options_.ema > 0) clock.average_share = float((1 - options_.ema) / kept_out(options_.ema, t));
  return clock;
}

// A norm that clips must be known before the update; else the update leaves its squares behind.
void Optimizer::enqueue(const Parts& parts, std::int64_t N, double* sums) {
  if (options_.clip_norm > 0) {
    enqueue_squares(parts, N);
    enqueue_norm(sums);
    enqueue_updates(parts, N);
  } else {
    enqueue_updates(parts, N);
    enqueue_norm(sums);
  }
}

void Optimizer::enqueue_squares(const Parts& parts, std::int64_t N) {
  for (const auto& [network, segments, arrays, first_run] : trained_)
    network->model.backend().square_sums({.parts = parts.from(network->offset),
                                          .size = network->model.layout().size,
                                          .scale = 1 / float(N),
                                          .square_sums = square_sums_.floats() + first_run});
}

void Optimizer::enqueue_norm(double* sums) {
  trained_.front().network->model.backend().gradient_norm({.square_sums = square_sums_.floats(),
                                                           .count = square_runs_,
                                                           .clip_norm = float(options_.clip_norm),
                                                           .clip = clip_.floats(),
                                                           .sums = sums});
}

void Optimizer::enqueue_updates(const Parts& parts, std::int64_t N) {
  const bool clips = options_.clip_norm > 0;
  for (const auto& [network, segments, arrays, first_run] : trained_) {
    Model& model = network->model;
    UpdateArgs update{.optimizer = row_.id,
                      .params = model.params(),
                      .parts = parts.from(network->offset),
                      .size = model.layout().size,
                      .scale = 1 / float(N),
                      .momentum = float(options_.momentum),
                      .beta1 = float(options_.beta1),
                      .beta2 = float(options_.beta2),
                      .share1 = float(1 - options_.beta1),
                      .share2 = float(1 - options_.beta2),
                      .epsilon = float(options_.epsilon),
                      .segments = reinterpret_cast<const UpdateSegment*>(segments.data()),
                      .average = network->average ? network->average->params() : nullptr,
                      .clip = clip_.floats(),
                      .square_sums = clips ? nullptr : square_sums_.floats() + first_run};
    for (int a = 0; a < row_.arrays(); ++a) update.arrays[a] = arrays[a].floats();
    model.backend().update(update);
  }
}

Buffer* Optimizer::array(std::string_view network, std::string_view name) {
  for (Trained& trained : trained_) {
    if (trained.network->name != network) continue;
    for (int a = 0; a < row_.arrays(); ++a)
      if (row_.array_names[a] == name) return &trained.arrays[a];
  }
  return nullptr;
}

}  // namespace sfnn
