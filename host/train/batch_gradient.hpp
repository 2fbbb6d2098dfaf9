// The gradient of a mini-batch: a pass over each of its tiles, and the sums of their gradients in
// parts.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "host/backend/backend.hpp"
#include "host/model/model.hpp"
#include "host/train/batches.hpp"
#include "host/train/betas.hpp"
#include "host/train/pass.hpp"
#include "host/train/proposal.hpp"
#include "host/train/step_networks.hpp"
#include "host/train/train_options.hpp"
#include "host/train/train_plan.hpp"

namespace sfnn {

class BatchGradient {
 public:
  // The networks must outlive this.
  BatchGradient(const StepNetworks&, const TrainOptions&, const TrainPlan&, const DataSet&);
  // What it will take of the backend's memory, besides what state_arrays lists.
  static std::size_t bytes(Backend&, const NetworkSpec&, const TrainPlan&);
  static std::int64_t part_size(const NetworkSpec&, const TrainPlan&);  // floats, of all networks

  // Enqueues the ops for the N examples of the batch at hand, or for this rank's share of them.
  void enqueue(const Batches&, std::int64_t N);
  // What the ops leave, per example: the criterion and the effective particles.
  float* C_hat() const { return C_hat_.floats(); }
  float* ess() const { return ess_.floats(); }
  // The sums of N examples, laid out by StepNetworks, before anybody has added them; only those of
  // this rank are there.
  Parts parts(std::int64_t N) const;

  // Eq. (18): enqueues the move of the averages behind G1's L_bar, by the sums of a step.
  void move_baseline(const Parts&, std::int64_t N);
  Buffer& baseline() { return baseline_; }  // the averages; no bytes if the estimator keeps none

  std::vector<float> download_sum(Parts) const;          // in the backend's memory; waits
  const Pass& pass() const { return *passes_.front(); }  // all of them are alike
  std::size_t workspace_bytes() const;

 private:
  void enqueue_tile(const Batches&, const Tile&, int lane, float* part);

  const StepNetworks& networks_;
  const Model& model_;  // P
  TrainPlan plan_;
  float baseline_decay_;
  StagedData::Randomness randomness_;
  std::vector<std::unique_ptr<Pass>> passes_;             // one per lane
  std::vector<std::unique_ptr<ProposalPass>> proposals_;  // the same, if there is an R
  Buffer parts_, C_hat_, ess_, baseline_;
  Betas betas_;
};

}  // namespace sfnn
