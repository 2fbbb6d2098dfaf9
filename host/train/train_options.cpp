#include "host/train/train_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/base/error.hpp"
#include "host/train/proposal.hpp"

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

void validate_schedule(const TrainOptions& options) {
  require(!options.warmup_epochs || !options.warmup_steps,
          "train.warmup_epochs and train.warmup_steps are both set: leave one of them at auto");
  const double warmup = options.warmup_epochs_or_default(options.epochs);
  require(warmup >= 0 && warmup <= double(options.epochs),
          fmt::format("train.warmup_epochs = {}: must lie between 0 and train.epochs = {}", warmup,
                      options.epochs));
  const bool has_steps = options.schedule == ScheduleKind::steps;
  require(has_steps == !options.step_epochs.empty(),
          has_steps ? "train.schedule = steps needs train.step_epochs, as in 10,15"
                    : fmt::format("train.step_epochs is for train.schedule = steps, not {}",
                                  to_string(options.schedule)));
  require(std::ranges::is_sorted(options.step_epochs), "train.step_epochs must not fall");
}

void validate_proposal(const TrainOptions& options, const NetworkSpec& spec) {
  const ProposalOptions& proposal = options.proposal;
  require(spec.samples(), "proposal.on = true: the network has no stochastic units to draw from R");
  require(std::ranges::all_of(proposal.hidden, [](const LayerSpec& l) { return !l.samples(); }),
          "proposal.hidden: R has deterministic layers only, such as [\"200d\"]");
  require(options.particles >= 2,
          "proposal.on = true with train.particles = 1: with one particle every responsibility is "
          "1, so R would learn nothing; use train.particles of 2 or more");
  require(proposal.particles_from_P <= options.particles,
          fmt::format("proposal.particles_from_P = {}: must be at most train.particles = {}",
                      proposal.particles_from_P, options.particles));
  require(!proposal.learning_rate || options.learning_rate > 0,
          "proposal.learning_rate follows the course of train.learning_rate, which must not be 0");
  try {
    proposal_network(spec, proposal.hidden).validate();
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("proposal.on = true: R: {}", error.what()));
  }
}

}  // namespace

Schedule schedule_of(const TrainOptions& options, std::int64_t steps_per_epoch,
                     std::int64_t first_step) {
  Schedule schedule{.kind = options.schedule,
                    .max_rate = options.learning_rate,
                    .total_steps = options.epochs * steps_per_epoch,
                    .drop_factor = options.step_factor};
  const auto steps = [&](double epochs) { return std::llround(epochs * double(steps_per_epoch)); };
  if (ends_in_zero(options.schedule)) schedule.first_step = first_step;
  const std::int64_t left = schedule.total_steps - schedule.first_step;
  schedule.warmup_steps = options.warmup_steps.value_or(
      steps(options.warmup_epochs_or_default(left / steps_per_epoch)));
  if (schedule.first_step > 0) schedule.warmup_steps = std::min(schedule.warmup_steps, left);
  for (const double epoch : options.step_epochs) schedule.drops.push_back(steps(epoch));
  return schedule;
}

// rws is proportional to w_bar unless a constant is taken off the particles of P.
EstimatorRow estimator_of(const TrainOptions& options) {
  if (!options.proposal.on) return row_of(options.estimator);
  EstimatorRow row = row_of(Estimator::G4);
  row.name = "R";
  switch (options.proposal.rule) {
    case ProposalRule::rws:
      row.follows_w_bar = options.proposal.particles_from_P == 0 || options.c == 0.0;
      break;
    case ProposalRule::bound:
      row.omega = OmegaRule::gain;
      row.follows_w_bar = false;
      break;
  }
  return row;
}

std::string training_name(const TrainOptions& options) {
  if (!options.proposal.on) return std::string(row_of(options.estimator).name);
  return fmt::format("R, {}", to_string(options.proposal.rule));
}

void validate(const TrainOptions& options, const NetworkSpec& spec) {
  spec.validate();
  require(options.particles >= 1, "train.particles must be at least 1");
  require(options.batch >= 1, "train.batch must be at least 1");
  require(options.epochs >= 0, "train.epochs must not be negative");
  if (options.proposal.on) validate_proposal(options, spec);
  const EstimatorRow estimator = estimator_of(options);
  require(
      options.particles >= estimator.least_particles || !spec.trains_s(),
      fmt::format("train.estimator = {} with train.particles = {}: {}; use train.particles of {} "
                  "or more",
                  estimator.name, options.particles, what_one_particle_teaches(estimator),
                  estimator.least_particles));
  validate_schedule(options);
}

}  // namespace sfnn
