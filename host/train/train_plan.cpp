#include "host/train/train_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>

#include "host/base/error.hpp"
#include "host/ranks/step_exchange.hpp"
#include "host/train/batch_gradient.hpp"
#include "host/train/batches.hpp"
#include "host/train/optimizer.hpp"
#include "host/train/proposal.hpp"
#include "host/train/staged_data.hpp"
#include "host/train/state_arrays.hpp"
#include "host/train/train_state.hpp"
#include "kernels/philox.hpp"

namespace sfnn {
namespace {

Tiling tiling_of(const Backend& backend, const TrainPlan& plan, const NetworkSpec& spec,
                 const Examples& examples, const Tiling& asked) {
  StepShape shape{.batch = plan.batch,
                  .M = plan.M,
                  .row_floats = Pass::row_floats(spec),
                  .parameters = ParamLayout(spec).size,
                  .example_bytes = StagedData::pass_bytes(examples),
                  .other_bytes = plan.data_bytes};
  if (plan.R) {  // its activations have one row per example
    shape.parameters += ParamLayout(*plan.R).size;
    shape.example_bytes += sizeof(float) * std::size_t(plan.R->D_in + Pass::row_floats(*plan.R));
  }
  Tiling tiling = backend.choose_tiling(shape);
  if (asked.tile > 0) {
    tiling.tile = asked.tile;
    tiling.short_of_memory = false;
  }
  // One device adds in one part; of several, each needs its own.
  if (!backend.is_host_memory())
    tiling.parts = std::max(tiling.parts, std::int64_t(std::bit_ceil(unsigned(plan.ranks))));
  if (asked.parts > 0) tiling.parts = asked.parts;
  require(
      std::has_single_bit(std::uint64_t(tiling.parts)) && tiling.parts <= kMaxParts,
      fmt::format("train.parts = {}: must be a power of two, at most {}", tiling.parts, kMaxParts));
  require(plan.ranks <= tiling.parts,
          fmt::format("train.parts = {}: {} ranks cannot share so few parts of a step; start at "
                      "most {}, or set train.parts to {} for a new run",
                      tiling.parts, plan.ranks, tiling.parts, std::bit_ceil(unsigned(plan.ranks))));
  tiling.tile = std::min(tiling.tile, plan.batch);
  return tiling;
}

}  // namespace

TrainPlan plan_training(Backend& backend, const NetworkSpec& spec, const TrainOptions& options,
                        const DataSet& data, const Ranks& ranks) {
  validate(options, spec);
  const std::int64_t count = data.train.count;
  require(count > 0, "there are no training examples");
  require(data.D_in == spec.D_in && data.D_out == spec.D_out,
          "the data set does not fit the network");
  TrainPlan plan{.batch = std::min(options.batch, count),
                 .M = spec.samples() ? options.particles : 1,
                 .steps_per_epoch = (count + options.batch - 1) / options.batch,
                 .rank = ranks.rank(),
                 .ranks = ranks.count()};
  plan.schedule = schedule_of(options, plan.steps_per_epoch);
  require(plan.schedule.warmup_steps <= plan.schedule.total_steps,
          fmt::format("train.warmup_steps = {}: the run has {} steps", plan.schedule.warmup_steps,
                      plan.schedule.total_steps));
  require(plan.schedule.total_steps < kEvaluationStep, "train.epochs: more than 2^30 steps");
  const double c = options.c_or_default(plan.M);
  plan.pass = {.seed = options.seed,
               .estimator = with_c(estimator_of(options), c),
               .c = float(c),
               .T = float(options.temperature),
               .drop_below = float(options.drop_below_or_default(plan.M)),
               .proposal = {.on = options.proposal.on,
                            .from_P = options.proposal.on ? options.proposal.particles_from_P : 0,
                            .rule = options.proposal.rule}};
  if (options.proposal.on) plan.R = proposal_network(spec, options.proposal.hidden);
  plan.data_bytes = StagedData::bytes(backend, data.train, plan.batch);
  plan.tiling = tiling_of(backend, plan, spec, data.train, options.tiling);
  plan.lanes = int(std::min<std::int64_t>(backend.lanes(), plan.own_parts()));

  plan.workspace_bytes =
      bytes_of(state_arrays(spec, plan.pass.estimator, options)) +
      BatchGradient::bytes(backend, spec, plan) +
      StepExchange::bytes(plan.shares(plan.batch), BatchGradient::part_size(spec, plan)) +
      Optimizer::bytes(spec, options, kModelP) + Batches::bytes(data.train);
  if (plan.R)
    plan.workspace_bytes += bytes_of(state_arrays(*plan.R, plan.pass.estimator, options)) +
                            Optimizer::bytes(*plan.R, options, kModelR);
  return plan;
}

}  // namespace sfnn
