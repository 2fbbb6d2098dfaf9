#include "host/train/optimizer.hpp"

namespace sfnn {
namespace {

double rate_of(ParamGroup group, const TrainOptions& options) {
  switch (group) {
    case ParamGroup::weight:
    case ParamGroup::bias:
      return options.hidden_rate;
    case ParamGroup::output:
    case ParamGroup::scale:
      return 1;
  }
  return 1;
}

}  // namespace

Optimizer::Optimizer(StepNetworks& networks, const TrainOptions& options)
    : row_(row_of(options.optimizer)), momentum_(float(options.momentum)) {
  for (StepNetworks::Network& network : networks) {
    Trained& trained = trained_.emplace_back(Trained{.network = &network});
    const ParamLayout& layout = network.model.layout();
    // Slots of one rate that follow each other are one segment, the gaps between them included.
    for (const ParamSlot& slot : layout.slots()) {
      const double rate = rate_of(slot.group, options);
      if (trained.segments.empty() || trained.segments.back().rate != rate)
        trained.segments.push_back({slot.offset, layout.size, rate});
      if (trained.segments.size() > 1)
        trained.segments[trained.segments.size() - 2].end = trained.segments.back().begin;
    }
    for (int a = 0; a < row_.arrays(); ++a)
      trained.arrays.emplace_back(network.model.backend(), sizeof(float) * layout.size);
  }
}

void Optimizer::enqueue(const Parts& parts, std::int64_t N) {
  for (const Trained& trained : trained_) {
    Model& model = trained.network->model;
    for (const Segment& segment : trained.segments) {
      UpdateArgs update{.optimizer = row_.id,
                        .params = model.params() + segment.begin,
                        .parts = parts.from(trained.network->offset + segment.begin),
                        .size = segment.end - segment.begin,
                        .scale = float(segment.rate) / float(N),
                        .momentum = momentum_};
      for (int a = 0; a < row_.arrays(); ++a)
        update.arrays[a] = trained.arrays[a].floats() + segment.begin;
      model.backend().update(update);
    }
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
