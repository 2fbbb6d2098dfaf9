#include "host/train/train_options.hpp"

#include <fmt/format.h>

#include "host/base/error.hpp"

namespace sfnn {
namespace {

const char* what_one_particle_teaches(const EstimatorRow& estimator) {
  if (compares_particles(estimator.omega))
    return "particles are compared with each other, and there is only one";
  switch (estimator.beta) {
    case BetaRule::none:
      return "with one particle every responsibility is 1, so each unit would be trained towards "
             "its own draw";
    case BetaRule::constant:
    case BetaRule::moving_baseline:
      return "with one particle every responsibility is 1, so the gradient would be zero";
  }
  return "";
}

}  // namespace

void validate(const TrainOptions& options, const NetworkSpec& spec) {
  spec.validate();
  require(options.particles >= 1, "train.particles must be at least 1");
  require(options.batch >= 1, "train.batch must be at least 1");
  require(options.epochs >= 0, "train.epochs must not be negative");
  const EstimatorRow& estimator = row_of(options.estimator);
  require(options.particles >= estimator.least_particles || !spec.trains_s(),
          fmt::format("train.estimator = {} with train.particles = {}: {}; use train.particles of {} "
                      "or more",
                      estimator.name, options.particles, what_one_particle_teaches(estimator),
                      estimator.least_particles));
  const double warmup = options.warmup_epochs_or_default();
  require(warmup >= 0 && warmup <= double(options.epochs),
          fmt::format("train.warmup_epochs = {}: must lie between 0 and train.epochs = {}", warmup,
                      options.epochs));
}

}  // namespace sfnn
