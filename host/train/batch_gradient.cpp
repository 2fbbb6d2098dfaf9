#include "host/train/batch_gradient.hpp"

#include <algorithm>

namespace sfnn {

BatchGradient::BatchGradient(const StepNetworks& networks, const TrainOptions& options,
                             const TrainPlan& plan, const DataSet& data)
    : networks_(networks),
      model_(networks.P().model),
      plan_(plan),
      baseline_decay_(float(options.baseline_decay)),
      randomness_{.binarize = data.binarize_train,
                  .noise = float(options.noise),
                  .data_seed = options.data_seed,
                  .seed = options.seed},
      parts_(model_.backend(), sizeof(float) * plan.parts_with_tiles() * networks.part_size()),
      C_hat_(model_.backend(), sizeof(float) * plan.batch),
      ess_(model_.backend(), sizeof(float) * plan.batch),
      baseline_(model_.backend(), sizeof(float) * networks.P().layout.baseline_size),
      betas_(model_.backend(), model_.spec(), plan.pass) {
  plan_.pass.first_site = model_.first_site();
  plan_.pass.y_units = model_.target_units();
  for (int lane = 0; lane < plan.lanes; ++lane)
    passes_.push_back(std::make_unique<Pass>(model_.backend(), model_.spec(), plan_.pass,
                                             plan.tiling.tile, plan.M));
  for (int lane = 0; networks.R() && lane < plan.lanes; ++lane)
    proposals_.push_back(std::make_unique<ProposalPass>(
        model_.backend(), networks.R()->model.spec(), plan.tiling.tile, /*backward=*/true));
}

std::size_t BatchGradient::bytes(Backend& backend, const NetworkSpec& spec, const TrainPlan& plan) {
  const PartLayout part(spec, plan.pass.estimator);
  std::int64_t part_size = part.size();
  std::size_t lane = Pass::bytes(backend, spec, plan.pass, plan.tiling.tile, plan.M);
  if (plan.R) {
    part_size += ParamLayout(*plan.R).size;
    lane += ProposalPass::bytes(backend, *plan.R, plan.tiling.tile, /*backward=*/true);
  }
  return plan.lanes * lane +
         sizeof(float) * (plan.parts_with_tiles() * part_size + part.beta_size + 2 * plan.batch);
}

void BatchGradient::enqueue(const Batches& batches, std::int64_t N) {
  Backend& backend = model_.backend();
  const Parts parts = this->parts(N);
  const std::int64_t tile = plan_.tiling.tile;
  betas_.refresh(baseline_.floats());
  backend.for_each(parts.count, [&](std::int64_t p, int lane) {
    float* part = parts_.floats() + p * parts.stride;
    backend.fill_zero(reinterpret_cast<std::byte*>(part), parts.stride * sizeof(float));
    const std::int64_t end = tiles(N) * (p + 1) / parts.count;  // as place_of has it
    for (std::int64_t t = tiles(N) * p / parts.count; t < end; ++t)
      enqueue_tile(batches, {.first = t * tile, .N = std::min(tile, N - t * tile), .M = plan_.M},
                   lane, part);
  });
}

void BatchGradient::enqueue_tile(const Batches& batches, const Tile& tile, int lane, float* part) {
  Pass& pass = *passes_[lane];
  float* C_hat = C_hat_.floats() + tile.first;
  batches.data().gather(tile, randomness_, model_.gather_units(), pass);
  const StepNetworks::Network* R = networks_.R();
  pass.forward(tile, model_.params(),
               R ? proposals_[lane]->forward(tile, pass, model_.spec().output, R->model.params())
                 : ProposalLogits{});
  {
    const Range range(model_.backend(), "weigh");
    pass.log_prob(model_.params());
    pass.weigh(C_hat, ess_.floats() + tile.first);
  }
  pass.backward(model_.params(), betas_.data(), C_hat, part + networks_.P().offset);
  if (R) proposals_[lane]->backward(pass, model_.params(), R->model.params(), part + R->offset);
}

Parts BatchGradient::parts(std::int64_t N) const {
  return {parts_.floats(), std::min(plan_.tiling.parts, tiles(N)), networks_.part_size(),
          plan_.tiling.parts};
}

void BatchGradient::move_baseline(const Parts& parts, std::int64_t N) {
  const StepNetworks::Network& P = networks_.P();
  const PartLayout& layout = P.layout;
  if (layout.baseline_size == 0) return;
  model_.backend().update_baseline({.averages = baseline_.floats(),
                                    .parts = parts.from(P.offset + layout.gradient_size),
                                    .size = layout.baseline_size,
                                    .scale = 1 / float(N * plan_.M),
                                    .decay = baseline_decay_});
}

std::vector<float> BatchGradient::download_sum(std::int64_t N) const {
  Parts all = parts(N);
  std::vector<float> host(all.count * all.stride), sums(all.stride);
  download(model_.backend(), all.data, host);
  all.data = host.data();
  for (std::int64_t i = 0; i < all.stride; ++i) sums[i] = part_sum(all, i);
  return sums;
}

std::size_t BatchGradient::workspace_bytes() const {
  std::size_t bytes = parts_.bytes() + C_hat_.bytes() + ess_.bytes() + betas_.bytes();
  for (const auto& pass : passes_) bytes += pass->workspace_bytes();
  for (const auto& pass : proposals_) bytes += pass->workspace_bytes();
  return bytes;
}

}  // namespace sfnn
