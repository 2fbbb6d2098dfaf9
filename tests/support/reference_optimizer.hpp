// Rates and steps of every optimiser in double, by the textbook.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "host/train/train_options.hpp"
#include "tests/support/reference.hpp"

namespace sfnn {

// The rate of a step, as the options say it, of three epochs.
inline double reference_rate(const TrainOptions& options, double t, double per_epoch) {
  double warmup = options.schedule == ScheduleKind::paper ? 0.6 : 0;
  warmup = std::round(options.warmup_epochs.value_or(warmup) * per_epoch);
  if (options.warmup_steps) warmup = double(*options.warmup_steps);
  if (t < warmup) return options.learning_rate * (t + 1) / warmup;
  const double total = 3 * per_epoch, done = (t - warmup) / (total - warmup);
  switch (options.schedule) {
    case ScheduleKind::paper:
      return options.learning_rate * (1 - done);
    case ScheduleKind::constant:
      return options.learning_rate;
    case ScheduleKind::cosine:
      return options.learning_rate * std::pow(std::cos(M_PI / 2 * done), 2);
    case ScheduleKind::steps: {
      double rate = options.learning_rate;
      for (const double epoch : options.step_epochs)
        if (t >= epoch * per_epoch) rate *= options.step_factor;
      return rate;
    }
  }
  return 0;
}

// PyTorch's recurrences, uphill, in double.
class ReferenceOptimizer {
 public:
  ReferenceOptimizer(const NetworkSpec& spec, const TrainOptions& options)
      : options_(options), first_(ParamLayout(spec).size), second_(first_), average(first_.size()) {
    for (const ParamSlot& slot : ParamLayout(spec).slots()) {
      const bool hidden = slot.name.starts_with("layer"), decays = slot.fan_in > 0;
      const bool sigma = slot.name == "rho";  // a tenth of the rate, for outputs that share it
      const double sigma_rate = 0.1 * double(slot.cols) / double(spec.D_out);
      const double head_rate = 0.1 / double(spec.input_width(spec.depth()));
      for (std::int64_t i = 0; i < slot.size(); ++i) {
        const bool in_head = (slot.name == "V" || slot.name == "c") && i % slot.cols >= spec.D_out;
        places_.push_back({slot.offset + i,
                           hidden    ? options.hidden_rate
                           : sigma   ? sigma_rate
                           : in_head ? head_rate
                                     : 1,
                           decays || (options.decay_biases && !sigma) ? options.weight_decay : 0});
      }
    }
  }

  void step(Vector& params, const Vector& gradient, std::int64_t t, double learning_rate) {
    double norm = 0;
    for (const Place& place : places_) norm += std::pow(gradient[place.i], 2);
    norm = std::sqrt(norm);
    norms += norm;
    const bool clips = options_.clip_norm > 0 && norm > options_.clip_norm;
    clipped += clips;
    weight_ = options_.ema * weight_ + 1;
    for (const auto& [i, hidden_rate, decay] : places_) {
      const double g = gradient[i] * (clips ? options_.clip_norm / norm : 1);
      params[i] += move(i, params[i], g, decay, hidden_rate * learning_rate, double(t + 1));
      average[i] += (params[i] - average[i]) / weight_;
    }
  }

  double norms = 0, clipped = 0;

 private:
  struct Place {
    std::int64_t i;
    double rate, decay;
  };

  double move(std::int64_t i, double w, double g, double decay, double rate, double t) {
    const bool decoupled = options_.optimizer == OptimizerKind::adamw;
    if (!decoupled) g -= decay * w;
    if (!row_of(options_.optimizer).is_adam()) {
      first_[i] = options_.momentum * first_[i] + g;
      const bool nesterov = options_.optimizer == OptimizerKind::nesterov;
      return rate * (nesterov ? g + options_.momentum * first_[i] : first_[i]);
    }
    first_[i] = options_.beta1 * first_[i] + (1 - options_.beta1) * g;
    second_[i] = options_.beta2 * second_[i] + (1 - options_.beta2) * g * g;
    const double m = first_[i] / (1 - std::pow(options_.beta1, t)),
                 v = second_[i] / (1 - std::pow(options_.beta2, t));
    return rate * m / (std::sqrt(v) + options_.epsilon) - (decoupled ? rate * decay * w : 0);
  }

  TrainOptions options_;
  Vector first_, second_;
  double weight_ = 0;
  std::vector<Place> places_;

 public:
  Vector average;
};

}  // namespace sfnn
