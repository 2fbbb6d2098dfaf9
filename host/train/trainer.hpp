// The thin loop: batches of a data set, tiles of a batch, a pass over each, the sum of their
// gradients, a step.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/backend/backend.hpp"
#include "host/data/dataset.hpp"
#include "host/model/network.hpp"
#include "host/train/betas.hpp"
#include "host/train/pass.hpp"
#include "host/train/staged_data.hpp"
#include "host/train/train_options.hpp"
#include "host/train/train_plan.hpp"

namespace sfnn {

// Everything that a run carries from one step to the next.
struct TrainerState {
  std::int64_t step = 0;  // steps done
  std::vector<float> params, velocity;
  std::vector<float> baseline;        // G1's averages
  double C_hat_sum = 0, ess_sum = 0;  // over the examples seen since the epoch began
};

class Trainer {
 public:
  // Starts from fresh weights. The data must outlive the trainer.
  Trainer(Backend&, const NetworkSpec&, const TrainOptions&, const DataSet&);

  void train_step();

  std::int64_t step() const { return step_; }  // steps done
  std::int64_t steps_per_epoch() const { return plan_.steps_per_epoch; }
  std::int64_t total_steps() const { return plan_.schedule.total_steps; }
  double learning_rate(std::int64_t step) const { return plan_.schedule.rate(step); }

  struct EpochMeans {
    double C_hat = 0, effective_particles = 0;
    std::int64_t examples = 0;
  };
  EpochMeans epoch_means();  // over the examples since the epoch began; waits for the device

  // What is NaN or infinite, by step and tensor, in words; nothing while all is well. Waits for the
  // device. Looks at C_hat, which a bad weight spoils in the next step (unless it only saturates a
  // unit), and at the weights only if `thorough` or to name them once C_hat has gone bad.
  std::optional<std::string> not_finite(bool thorough = false);

  const float* params() const { return params_.floats(); }  // in the backend's memory
  TrainerState state();
  void restore(const TrainerState&);        // throws DataError where sizes differ
  void set_params(std::span<const float>);  // other weights to start from

  const Tiling& tiling() const { return plan_.tiling; }
  std::int64_t particles() const { return plan_.M; }
  std::size_t workspace_bytes() const;  // what the plan said

 private:
  void begin_epoch();
  void enqueue_step(std::int64_t N);
  void train_tile(const Tile&, int lane, float* part);
  std::string name_not_finite(bool C_hat_is_finite, std::span<const float> params);

  Backend& backend_;
  TrainOptions options_;
  TrainPlan plan_;
  ParamLayout param_layout_;
  PartLayout part_layout_;
  StagedData data_;
  StagedData::Randomness randomness_;
  std::vector<std::unique_ptr<Pass>> passes_;  // one a lane
  std::unique_ptr<StepRunner> runner_;
  std::optional<Betas> betas_;
  Buffer params_, velocity_, baseline_, parts_, C_hat_, ess_, sums_, order_;
  std::int64_t step_ = 0;
  // The last after which not_finite() found nothing: in C_hat, and in the weights.
  std::int64_t sound_step_ = 0, sound_weights_step_ = 0;
};

}  // namespace sfnn
