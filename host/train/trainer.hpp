// The thin loop: batches of a data set, the gradient of each, its sum over all ranks, the
// optimiser's step.
//
// One process enqueues a step in one piece, and adds its parts where the optimiser reads them. Of
// several, each enqueues its share of the gradient, meets the others, and enqueues the update.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/data/dataset.hpp"
#include "host/model/model.hpp"
#include "host/ranks/step_exchange.hpp"
#include "host/train/batch_gradient.hpp"
#include "host/train/batches.hpp"
#include "host/train/optimizer.hpp"
#include "host/train/step_networks.hpp"
#include "host/train/train_options.hpp"
#include "host/train/train_plan.hpp"
#include "host/train/train_state.hpp"

namespace sfnn {

// A network with fresh weights, drawn by the options' seed, for inputs as the data set has them.
Model fresh_model(Backend&, const NetworkSpec&, const TrainOptions&, const DataSet&);

class Trainer {
 public:
  // Trains these weights, of which it becomes the owner, by a plan of the same options and data.
  // The plan is made before the model: it counts the memory that is free. The data must outlive the
  // trainer, and so must the ranks, which the plan was made for. params_of_R: where a learned
  // proposal begins; empty: at R = P.
  Trainer(const TrainPlan&, Model, const TrainOptions&, const DataSet&,
          std::span<const float> params_of_R = {}, Ranks& = alone());
  // The same from fresh weights.
  Trainer(Backend& backend, const NetworkSpec& spec, const TrainOptions& options,
          const DataSet& data, Ranks& ranks = alone())
      : Trainer(Start(backend, spec, options, data, ranks), options, data, ranks) {}
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Returns whether any rank wanted to stop when it had made its share of the step. If a rank is
  // lost, throws what Ranks::exchange throws, and the state is still that of the step before.
  bool train_step(bool wants_stop = false);

  std::int64_t step() const { return step_; }  // steps done
  std::int64_t steps_per_epoch() const { return plan_.steps_per_epoch; }
  std::int64_t total_steps() const { return plan_.schedule.total_steps; }
  double learning_rate(std::int64_t step) const { return plan_.schedule.rate(step); }

  // Over the examples and steps since the epoch began.
  struct EpochMeans {
    double C_hat = 0, effective_particles = 0;
    double gradient_norm = 0;  // before it was clipped
    double clipped = 0;        // share of the steps
    std::int64_t examples = 0;
  };
  EpochMeans epoch_means();  // waits for the device
  std::int64_t examples_in(std::int64_t steps) const { return batches_.examples_in(steps); }

  // What is NaN or infinite, by step and tensor, in words; nothing while all is well. Waits for the
  // device. Looks at C_hat, which a bad weight spoils in the next step (unless it only saturates a
  // unit), and names what else has gone bad once C_hat has.
  std::optional<std::string> not_finite();
  // The same of a state that has been downloaded: every array in it is looked at.
  std::optional<std::string> not_finite(const TrainState&);

  const Model& model() const { return networks_.P().model; }
  // The same network with the moving average of the weights; null without train.ema.
  const Model* average() const {
    const auto& average = networks_.P().average;
    return average ? &*average : nullptr;
  }
  // The learned proposal, or its moving average; null: there is none.
  const Model* proposal(bool averaged = false) const {
    const StepNetworks::Network* R = networks_.R();
    if (!R) return nullptr;
    return averaged && R->average ? &*R->average : &R->model;
  }
  // The step, the sums of the epoch, and every array; the rest is the run's to fill in.
  TrainState state();
  void restore(const TrainState&);  // throws DataError if sizes or names differ
  // From here on other options of the schedule apply than those of the state that was restored: one
  // that ends in zero begins anew, over the steps that are left.
  void begin_tail();
  std::int64_t tail_step() const { return tail_step_; }  // where that was last; 0: never
  void set_params(std::span<const float> params) { networks_.P().model.set_params(params); }

  const Tiling& tiling() const { return plan_.tiling; }
  std::int64_t particles() const { return plan_.M; }
  const Pass& pass() const { return gradient_.pass(); }
  std::size_t workspace_bytes();  // as planned

 private:
  struct Start {  // members are made in this order
    Start(Backend& backend, const NetworkSpec& spec, const TrainOptions& options,
          const DataSet& data, const Ranks& ranks)
        : plan(plan_training(backend, spec, options, data, ranks)),
          model(fresh_model(backend, spec, options, data)) {}
    TrainPlan plan;
    Model model;
  };
  Trainer(Start start, const TrainOptions& options, const DataSet& data, Ranks& ranks)
      : Trainer(start.plan, std::move(start.model), options, data, {}, ranks) {}

  Backend& backend() const { return model().backend(); }
  bool is_alone() const { return plan_.ranks == 1; }
  void begin_sums();  // of an epoch
  void enqueue_update(std::int64_t N);
  // The gradient of N examples, by all ranks: parts that the reader adds.
  Parts summed(std::int64_t N) const { return is_alone() ? gradient_.parts(N) : exchange_.sum(); }
  // Sums over the epoch, as they lie in sums_.
  struct Sums {
    double C_hat = 0, effective_particles = 0, gradient_norm = 0, clipped_steps = 0;
  };
  Sums download_sums();
  double* sums() const { return reinterpret_cast<double*>(sums_.data()); }

  // The arrays of a network as state_arrays lists them, and the buffer of one.
  std::vector<ArraySpec> arrays_of(const StepNetworks::Network&) const;
  Buffer& buffer(StepNetworks::Network&, const ArraySpec&);
  std::string name_not_finite(const TrainState&, bool C_hat_is_finite);

  TrainPlan plan_;
  TrainOptions options_;
  StepNetworks networks_;
  Batches batches_;
  BatchGradient gradient_;
  StepExchange exchange_;
  Optimizer optimizer_;
  Buffer sums_;                          // Sums
  std::unique_ptr<StepRunner> updates_;  // of several ranks
  std::int64_t step_ = 0, tail_step_ = 0;
  // The last step after which nothing was found to be bad: in C_hat, and in the weights.
  std::int64_t sound_step_ = 0, sound_weights_step_ = 0;
};

}  // namespace sfnn
