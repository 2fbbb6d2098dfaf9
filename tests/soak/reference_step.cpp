#include "tests/soak/reference_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/devices/registry.hpp"
#include "kernels/baseline.hpp"
#include "kernels/philox.hpp"
#include "tests/support/compare.hpp"

namespace sfnn::soak {
namespace {

// A product of tiny floats may be zero where the reference has its digits.
constexpr double kUnderflow = 1e-36;

constexpr double kTie = 1e-5;  // well above what float makes of a probability

ReferenceBatch batch_of(const Case& c, const Trainer& trainer, std::int64_t step) {
  const std::int64_t per_epoch = trainer.steps_per_epoch(), count = c.data.train.count;
  std::vector<std::int32_t> order(count);
  make_backend({.device = "cpu", .threads = 1})
      ->shuffle({{c.options.seed, std::uint32_t(step / per_epoch), kSitePermutation},
                 count,
                 order.data()});
  const std::int64_t first = step % per_epoch * c.options.batch;
  ReferenceBatch batch{.N = std::min(c.options.batch, count - first), .M = trainer.particles()};
  for (std::int64_t n = 0; n < batch.N; ++n) {
    const std::int64_t row = order[first + n];
    for (std::int64_t i = 0; i < c.spec.D_in; ++i) {
      const float mean = c.data.units.x_mean.empty() ? 0 : c.data.units.x_mean[i];
      batch.x.push_back(double(c.data.train.x.at(row, i) - mean));
    }
    for (std::int64_t i = 0; i < c.data.train.y.cols; ++i)
      batch.y.push_back(double(c.data.train.y.at(row, i)));
  }
  return batch;
}

bool has_tie(const Case& c, const ReferenceBatch& batch, const ReferenceResult& result,
             std::int64_t step) {
  for (std::int64_t r = 0; r < batch.N * batch.M; ++r) {
    for (std::int64_t l = 0; l < c.spec.depth(); ++l) {
      const Vector& p = result.particles[r].layers[l].p;
      for (std::size_t i = 0; i < p.size() && c.spec.hidden[l].trains_s(); ++i) {
        const double u = uniform({c.options.seed, std::uint32_t(step), std::uint32_t(l)},
                                 std::uint32_t(r / batch.M), std::uint32_t(r % batch.M), i);
        if (std::abs(u - p[i]) < kTie) return true;
      }
    }
  }
  return false;
}

// L_bar from the averages before the step.
std::vector<Vector> baseline_of(const Case& c, const NetworkState& before) {
  const PartLayout layout(c.spec, c.options.estimator);
  std::vector<Vector> L_bar(c.spec.depth());
  for (std::int64_t l = 0; l < c.spec.depth(); ++l) {
    const std::int64_t n_s = c.spec.hidden[l].n_s;
    L_bar[l].resize(n_s);
    if (layout.baseline_size == 0 || !c.spec.hidden[l].trains_s()) continue;
    const float* score2 = before.array(kBaseline).data() + layout.baseline_offset[l];
    for (std::int64_t i = 0; i < n_s; ++i)
      L_bar[l][i] = baseline_at(double(score2[i]), double(score2[n_s + i]));
  }
  return L_bar;
}

}  // namespace

StepCheck check_step(const Case& c, Trainer& trainer, const TrainState& before) {
  const Vector params = to_double(before.P().array("params")),
               velocity = to_double(before.P().array("velocity"));
  ReferenceBatch batch = batch_of(c, trainer, before.step);
  batch.bits = reference_draws(c.spec, params, batch, c.options.seed, std::uint32_t(before.step));
  const ReferenceResult result = reference_pass(c.spec, params, batch,
                                                {.id = c.options.estimator,
                                                 .c = c.options.c_or_default(batch.M),
                                                 .L_bar = baseline_of(c, before.P()),
                                                 .T = c.options.temperature,
                                                 .seed = c.options.seed,
                                                 .step = std::uint32_t(before.step)});
  if (has_tie(c, batch, result, before.step)) return {.tie = true};

  double log_w_scale = 1;  // w_bar's relative error is log_w's absolute one
  for (double value : result.log_w) log_w_scale = std::max(log_w_scale, std::abs(value));
  const double terms = gradient_terms(c.spec, batch), N = double(batch.N);
  const TrainState after = trainer.state();
  for (const ParamSlot& slot : ParamLayout(c.spec).slots()) {
    const double group_rate = slot.name.starts_with("layer") ? c.options.hidden_rate
                              : slot.name == "rho"
                                  ? c.options.shared_sigma_rate(c.spec.D_out / slot.cols)
                                  : 1;
    const double scale = 1 / N;
    for (std::int64_t e = slot.offset; e < slot.offset + slot.size(); ++e) {
      const bool of_sigma = (e - slot.offset) % slot.cols >= slot.cols - slot.sigma_cols;
      const double rate =
          trainer.learning_rate(before.step) *
          (of_sigma ? c.options.sigma_head_rate(c.spec.input_width(c.spec.depth())) : group_rate);
      const double v = c.options.momentum * velocity[e] + scale * result.gradient[e];
      const double p = params[e] + rate * v;
      const double v_tolerance =
          scale * float_tolerance(terms, result.gradient_magnitude[e] * log_w_scale) +
          float_tolerance(1, std::abs(velocity[e])) + kUnderflow;
      const double p_tolerance = rate * v_tolerance + float_tolerance(1, std::abs(params[e]));
      const bool close = std::abs(after.P().array("velocity")[e] - v) <= v_tolerance &&
                         std::abs(after.P().array("params")[e] - p) <= p_tolerance;
      if (!close) {
        return {.error = fmt::format("{}[{}] is {} with velocity {}, and should be {} with {}",
                                     slot.name, e - slot.offset, after.P().array("params")[e],
                                     after.P().array("velocity")[e], p, v)};
      }
    }
  }
  return {};
}

}  // namespace sfnn::soak
