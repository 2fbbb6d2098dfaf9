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
      parts_(model_.backend(), sizeof(float) * plan.own_parts() * networks.part_size()),
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
  std::size_t lane = Pass::bytes(backend, spec, plan.pass, plan.tiling.tile, plan.M);
  if (plan.R) {
    lane += ProposalPass::bytes(backend, *plan.R, plan.tiling.tile, /*backward=*/true);
  }
  return plan.lanes * lane + sizeof(float) * (plan.own_parts() * part_size(spec, plan) +
                                              part.beta_size + 2 * plan.batch);
}

std::int64_t BatchGradient::part_size(const NetworkSpec& spec, const TrainPlan& plan) {
  return PartLayout(spec, plan.pass.estimator).size() + (plan.R ? ParamLayout(*plan.R).size : 0);
}

void BatchGradient::enqueue(const Batches& batches, std::int64_t N) {
  Backend& backend = model_.backend();
  const StepShares shares = plan_.shares(N);
  const IndexRange own = shares.parts_of(plan_.rank);
  const std::int64_t tile = plan_.tiling.tile, stride = networks_.part_size();
  betas_.refresh(baseline_.floats());
  backend.for_each(own.size(), [&](std::int64_t p, int lane) {
    float* part = parts_.floats() + p * stride;
    backend.fill_zero(reinterpret_cast<std::byte*>(part), stride * sizeof(float));
    const IndexRange tiles = shares.tiles_of_part(own.begin + p);
    for (std::int64_t t = tiles.begin; t < tiles.end; ++t)
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
  return {parts_.floats(), plan_.shares(N).parts(), networks_.part_size(), plan_.tiling.parts};
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

std::vector<float> BatchGradient::download_sum(Parts all) const {
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
