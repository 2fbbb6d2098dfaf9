#include "host/train/trainer.hpp"

namespace sfnn {

Model fresh_model(Backend& backend, const NetworkSpec& spec, const TrainOptions& options,
                  const DataSet& data) {
  return {backend, spec, initial_params(spec, options.seed, options.init_scale), data.x_mean};
}

Trainer::Trainer(const TrainPlan& plan, Model model, const TrainOptions& options,
                 const DataSet& data)
    : plan_(plan),
      optimizer_kind_(options.optimizer),
      networks_(std::move(model), plan.pass.estimator),
      batches_(backend(), data.train, options.batch, options.seed),
      gradient_(networks_, options, plan_, data),
      optimizer_(networks_, options),
      sums_(backend(), 2 * sizeof(double)) {}

void Trainer::train_step() {
  if (step_ % plan_.steps_per_epoch == 0) backend().fill_zero(sums_.data(), sums_.bytes());
  batches_.run_step(step_, learning_rate(step_), [&](std::int64_t N) { enqueue_step(N); });
  ++step_;
}

void Trainer::enqueue_step(std::int64_t N) {
  gradient_.enqueue(batches_, N);
  const Range range(backend(), "update");
  backend().accumulate_metrics(
      {N, gradient_.C_hat(), gradient_.ess(), reinterpret_cast<double*>(sums_.data())});
  const Parts gradient = ranks_.sum(gradient_.parts(N));
  optimizer_.enqueue(gradient, N);
  gradient_.move_baseline(gradient, N);
}

std::array<double, 2> Trainer::download_sums() {
  std::array<double, 2> sums;
  backend().download(sums_.data(), std::as_writable_bytes(std::span(sums)));
  return sums;
}

Trainer::EpochMeans Trainer::epoch_means() {
  if (step_ == 0) return {};
  const auto [C_hat, ess] = download_sums();
  const std::int64_t examples = batches_.examples_in((step_ - 1) % plan_.steps_per_epoch + 1);
  return {C_hat / double(examples), ess / double(examples), examples};
}

}  // namespace sfnn
