#include "host/train/train_options.hpp"

#include <fmt/format.h>

#include "host/base/error.hpp"

namespace sfnn {

void validate(const TrainOptions& options, const NetworkSpec& spec) {
  spec.validate();
  require(options.particles >= 1, "train.particles must be at least 1");
  require(options.batch >= 1, "train.batch must be at least 1");
  require(options.epochs >= 0, "train.epochs must not be negative");
  const EstimatorInfo& estimator = info(options.estimator);
  require(!(estimator.needs_two_particles && options.particles == 1 && spec.trains_s()),
          fmt::format("train.estimator = {} with train.particles = 1: with one particle every "
                      "responsibility is 1, so {}; use train.particles of 2 or more",
                      estimator.name,
                      options.estimator == Estimator::G4
                          ? "each unit would be trained towards its own draw"
                          : "the gradient would be zero"));
  const double warmup = options.warmup_epochs_or_default();
  require(warmup >= 0 && warmup <= double(options.epochs),
          fmt::format("train.warmup_epochs = {}: must lie between 0 and train.epochs = {}", warmup,
                      options.epochs));
}

}  // namespace sfnn
