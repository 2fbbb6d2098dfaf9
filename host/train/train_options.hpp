// How to train, apart from where the data and the weights come from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/backend/backend.hpp"
#include "host/base/names.hpp"
#include "host/model/network.hpp"
#include "host/train/schedule.hpp"
#include "kernels/estimators.hpp"
#include "kernels/optimizers.hpp"
#include "kernels/proposal.hpp"

namespace sfnn {

inline constexpr Names<ProposalRule, 2> kProposalRules{
    {{ProposalRule::rws, "rws"}, {ProposalRule::bound, "bound"}}};
constexpr const auto& names_of(ProposalRule) { return kProposalRules; }

// A learned proposal R(h | x, y), trained with P. Its rule takes the estimator's place.
struct ProposalOptions {
  bool on = false;
  std::vector<LayerSpec> hidden = {};        // deterministic ones between (x, y) and e
  std::optional<double> learning_rate = {};  // that of P unless set
  std::int64_t particles_from_P = 0;
  ProposalRule rule = ProposalRule::rws;
};

// Every member has its default, so that {.epochs = 5} warns of nothing.
struct TrainOptions {
  std::uint64_t seed = 1, data_seed = 0;
  Estimator estimator = Estimator::G3;
  std::int64_t particles = 20;
  std::int64_t batch = 100;
  std::int64_t epochs = 20;
  double learning_rate = 0.1;  // peak
  ScheduleKind schedule = ScheduleKind::paper;
  // Only one may be set; neither: min(5, epochs / 5) epochs for the paper's schedule, else none.
  std::optional<double> warmup_epochs = {};
  std::optional<std::int64_t> warmup_steps = {};
  std::vector<double> step_epochs = {};  // ScheduleKind::steps: epochs after which the rate drops
  double step_factor = 0.1;              // and by how much
  double hidden_rate = 1;  // learning rate of the hidden layers, as a multiple of the output's
  std::optional<double> sigma_rate = {};  // the same of sigmas, learnt or predicted; see below
  OptimizerKind optimizer = OptimizerKind::sgd;
  double momentum = 0.9;                              // sgd, nesterov
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  // adam, adamw
  double weight_decay = 0;    // L2 for sgd, nesterov and adam; decoupled for adamw
  bool decay_biases = false;  // else weights alone decay
  double clip_norm = 0;       // largest norm of a step's gradient; 0: any
  double ema = 0;             // decay of the moving average of the weights; 0: there is none
  std::int64_t patience = 0;  // epochs without a better validation before training ends; 0: never
  double baseline_decay = 0.99;  // decay of G1's averages
  std::optional<double> c = {};  // constant of G5 and vimco: by their rows unless set
  double temperature = 1;        // of st-gumbel's relaxed draws
  // Least responsibility of a particle that is kept: 1e-6 / M unless set. No effect in a GPU's
  // graphs.
  std::optional<double> drop_below = {};
  double sigma_start = 0.2;  // where a learnt or predicted sigma begins, in the network's units
  double init_scale = 1;     // W ~ N(0, init_scale^2 / fan-in)
  double noise = 0;          // standard deviation of Gaussian noise on the input
  Tiling tiling = {0, 0};    // zero: chosen by the backend
  ProposalOptions proposal = {};

  // What is used if nothing was set; of_epochs: those that the schedule covers.
  double warmup_epochs_or_default(std::int64_t of_epochs) const {
    if (warmup_epochs) return *warmup_epochs;
    return schedule == ScheduleKind::paper ? std::min(5.0, double(of_epochs) / 5) : 0;
  }
  // Gradients of outputs that share a sigma add up; only Adam sees nothing of that.
  double shared_sigma_rate(std::int64_t outputs) const {
    return sigma_rate.value_or(row_of(optimizer).is_adam() ? 0.1 : 0.1 / double(outputs));
  }
  // A predicted sigma moves with the weights of all units that its head reads, whose steps add up.
  double sigma_head_rate(std::int64_t units) const {
    return sigma_rate.value_or(0.1 / double(std::max<std::int64_t>(units, 1)));
  }
  double c_or_default(std::int64_t M) const {
    if (proposal.on) return c.value_or(1 / double(M));
    const auto auto_c = row_of(estimator).auto_c;
    return c.value_or(auto_c ? auto_c(M) : 0);
  }
  double drop_below_or_default(std::int64_t M) const {
    return drop_below.value_or(1e-6 / double(M));
  }
};

// The rates of steps from first_step (the beginning of an epoch or within one) to the last epoch.
Schedule schedule_of(const TrainOptions&, std::int64_t steps_per_epoch,
                     std::int64_t first_step = 0);

// How P's stochastic units are trained: by the estimator or, if there is an R, by its rule.
EstimatorRow estimator_of(const TrainOptions&);

// Of that, for people: "G3", or "R, rws".
std::string training_name(const TrainOptions&);

// Throws ConfigError, naming the config's key, if the combination teaches nothing or a number is
// out of range.
void validate(const TrainOptions&, const NetworkSpec&);

}  // namespace sfnn
