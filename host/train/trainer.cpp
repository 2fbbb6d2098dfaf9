#include "host/train/trainer.hpp"

#include "host/base/error.hpp"
#include "host/train/proposal.hpp"

namespace sfnn {

Model fresh_model(Backend& backend, const NetworkSpec& spec, const TrainOptions& options,
                  const DataSet& data) {
  const InitialWeights weights{options.seed, options.init_scale, options.sigma_start};
  return {backend, spec, weights, data.units};
}

namespace {

StepNetworks networks_of(const TrainPlan& plan, Model P, const TrainOptions& options,
                         std::span<const float> params_of_R) {
  Backend& backend = P.backend();
  StepNetworks networks(std::move(P), plan.pass.estimator);
  if (!plan.R) return networks;
  std::vector<float> fresh;
  if (params_of_R.empty()) {
    fresh = initial_proposal(*plan.R, options.seed, options.init_scale);
    params_of_R = fresh;
  }
  networks.add(kModelR, Model(backend, *plan.R, params_of_R), plan.pass.estimator);
  return networks;
}

}  // namespace

Trainer::Trainer(const TrainPlan& plan, Model model, const TrainOptions& options,
                 const DataSet& data, std::span<const float> params_of_R, Ranks& ranks)
    : plan_(plan),
      options_(options),
      networks_(networks_of(plan, std::move(model), options, params_of_R)),
      batches_(backend(), data.train, options.batch, options.seed),
      gradient_(networks_, options, plan_, data),
      exchange_(backend(), ranks, plan_.shares(plan_.batch), networks_.part_size()),
      optimizer_(networks_, options),
      sums_(backend(), sizeof(Sums)) {
  if (plan.rank != ranks.rank() || plan.ranks != ranks.count())
    throw Error("the plan was made for other ranks");
  if (!is_alone()) updates_ = backend().make_step_runner();
}

bool Trainer::train_step(bool wants_stop) {
  const Clock rates = optimizer_.rates(step_, learning_rate(step_));
  if (is_alone()) {
    begin_sums();
    batches_.run_step(step_, rates, [&](std::int64_t N) {
      gradient_.enqueue(batches_, N);
      enqueue_update(N);
    });
  } else {
    batches_.run_step(step_, rates, [&](std::int64_t N) { gradient_.enqueue(batches_, N); });
    const std::int64_t N = batches_.examples_of(step_);
    wants_stop = exchange_.run({.number = step_,
                                .N = N,
                                .parts = gradient_.parts(N).data,
                                .C_hat = gradient_.C_hat(),
                                .ess = gradient_.ess(),
                                .wants_stop = wants_stop});
    begin_sums();
    updates_->run(N, [&] { enqueue_update(N); });
  }
  ++step_;
  return wants_stop;
}

void Trainer::begin_sums() {
  if (step_ % plan_.steps_per_epoch == 0) backend().fill_zero(sums_.data(), sums_.bytes());
}

void Trainer::enqueue_update(std::int64_t N) {
  const Range range(backend(), "update");
  backend().accumulate_metrics({N, gradient_.C_hat(), gradient_.ess(), sums()});
  const Parts gradient = summed(N);
  optimizer_.enqueue(gradient, N, sums() + 2);
  gradient_.move_baseline(gradient, N);
}

Trainer::Sums Trainer::download_sums() {
  Sums sums;
  backend().download(sums_.data(), std::as_writable_bytes(std::span(&sums, 1)));
  return sums;
}

Trainer::EpochMeans Trainer::epoch_means() {
  if (step_ == 0) return {};
  const Sums sums = download_sums();
  const std::int64_t steps = (step_ - 1) % plan_.steps_per_epoch + 1;
  const std::int64_t examples = batches_.examples_in(steps);
  return {.C_hat = sums.C_hat / double(examples),
          .effective_particles = sums.effective_particles / double(examples),
          .gradient_norm = sums.gradient_norm / double(steps),
          .clipped = sums.clipped_steps / double(steps),
          .examples = examples};
}

void Trainer::begin_tail() {
  tail_step_ = step_;
  plan_.schedule = schedule_of(options_, plan_.steps_per_epoch, tail_step_);
}

}  // namespace sfnn
