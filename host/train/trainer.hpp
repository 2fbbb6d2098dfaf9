// The thin loop: batches of a data set, tiles of a batch, a pass over each, the sum of their
// gradients, a step.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "host/backend/backend.hpp"
#include "host/data/dataset.hpp"
#include "host/model/network.hpp"
#include "host/train/pass.hpp"
#include "host/train/schedule.hpp"
#include "host/train/staged_data.hpp"

namespace sfnn {

struct TrainOptions {
  std::uint64_t seed = 1, data_seed = 0;
  Estimator estimator = Estimator::G3;
  std::int64_t particles = 20;
  std::int64_t batch = 100;
  std::int64_t epochs = 20;
  double learning_rate = 0.1;
  std::optional<double> warmup_epochs;  // min(5, epochs / 5) unless set
  double momentum = 0.9;
  double baseline_decay = 0.99;      // of G1's averages
  std::optional<double> c;           // of G5: 1/M unless set
  std::optional<double> drop_below;  // of a particle's responsibility: 1e-6 / M unless set
  double init_scale = 1;             // W ~ N(0, init_scale^2 / fan-in)
  double noise = 0;                  // standard deviation of Gaussian noise on the input
  Tiling tiling;                     // zero: chosen by the backend
};

// Throws ConfigError where the combination teaches nothing or the numbers are out of range.
void validate(const TrainOptions&, const NetworkSpec&);

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
  std::int64_t steps_per_epoch() const { return steps_per_epoch_; }
  std::int64_t total_steps() const { return schedule_.total_steps; }
  double learning_rate(std::int64_t step) const { return schedule_.rate(step); }

  struct EpochMeans {
    double C_hat = 0, effective_particles = 0;
    std::int64_t examples = 0;
  };
  EpochMeans epoch_means();  // over the examples since the epoch began; waits for the device

  const float* params() const { return params_.floats(); }  // in the backend's memory
  TrainerState state();
  void restore(const TrainerState&);          // throws DataError where sizes differ
  void set_params(std::span<const float>);  // other weights to start from

  const Tiling& tiling() const { return tiling_; }
  std::int64_t particles() const { return M_; }
  std::size_t workspace_bytes() const;  // of all lanes

 private:
  void begin_epoch();
  void enqueue_step(std::int64_t N);
  void train_tile(const Tile&, int lane, float* part);

  Backend& backend_;
  NetworkSpec spec_;
  TrainOptions options_;
  PartLayout part_layout_;
  StagedData data_;
  StagedData::Randomness randomness_;
  std::int64_t M_, steps_per_epoch_;
  Schedule schedule_;
  Tiling tiling_;
  std::vector<std::unique_ptr<Pass>> passes_;  // one a lane
  std::unique_ptr<StepRunner> runner_;
  Buffer params_, velocity_, baseline_, parts_, C_hat_, ess_, sums_, order_;
  std::int64_t step_ = 0;
};

}  // namespace sfnn
