#include "host/backend/cpu/output.hpp"

#include <cmath>

#include "host/backend/cpu/simd.hpp"
#include "host/backend/team.hpp"
#include "kernels/particle_weights.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "host/backend/cpu/output.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once per instruction set.
#include "host/backend/cpu/simd_math-inl.hpp"
#include "hwy/contrib/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sfnn {
namespace HWY_NAMESPACE {

float sum_of(VF v) { return hn::GetLane(hn::SumOfLanes(F32(), v)); }

const float* target_of(const OutputOperands& p, std::int64_t r) { return p.y.row(r / p.tile.M); }

// Eq. (2) (3): sum_i y_i o_i - softplus(o_i), softplus(o) = max(o, 0) + log(1 + exp(-|o|)). The
// logarithm of a product serves 64 elements: factors lie in [1, 2], so their product cannot
// overflow.
float bernoulli_log_prob(const float* o, const float* c, const float* y, std::int64_t D) {
  const F32 d;
  const VF one = hn::Set(d, 1.0f);
  VF linear = hn::Zero(d), logs = hn::Zero(d), product = one;
  int factors = 0;
  for_vectors(D, [&](auto lanes, std::int64_t i) HWY_ATTR {
    const VF oc = hn::Add(lanes.load(o + i), lanes.load(c + i));
    linear = hn::Add(linear, hn::MulSub(lanes.load(y + i), oc, hn::Max(oc, hn::Zero(d))));
    const VF factor = hn::Add(one, exp_of(hn::Neg(hn::Abs(oc))));
    product = hn::Mul(product, lanes.or_else(factor, one));
    if (++factors == 64) {
      logs = hn::Add(logs, hn::Log(d, product));
      product = one;
      factors = 0;
    }
  });
  return sum_of(linear) - sum_of(hn::Add(logs, hn::Log(d, product)));
}

// One sigma for all outputs.
float gaussian_log_prob(const float* o, const float* c, const float* y, std::int64_t D,
                        const Deviation<float>& deviation) {
  const VF inverse = hn::Set(F32(), deviation.inverse);
  VF squares = hn::Zero(F32());
  for_vectors(D, [&](auto lanes, std::int64_t i) HWY_ATTR {
    const VF residual = hn::Sub(lanes.load(y + i), hn::Add(lanes.load(o + i), lanes.load(c + i)));
    const VF z = hn::Mul(residual, inverse);
    squares = hn::MulAdd(z, z, squares);
  });
  return float(-0.5 * (double(sum_of(squares)) + double(D) * kLogTwoPi) -
               double(D) * double(deviation.log_sigma));
}

// deviation_from in vectors.
struct VectorDeviation {
  VF log_sigma, inverse, slope;
};

HWY_INLINE VectorDeviation deviation_in_vectors(VF rho) {
  const F32 d;
  const VF shifted = hn::Add(rho, hn::Set(d, float(kSigmaShift)));
  const VF softplus =
      hn::Add(hn::Max(shifted, hn::Zero(d)), hn::Log1p(d, exp_of(hn::Neg(hn::Abs(shifted)))));
  const VF log_sigma = hn::Add(hn::Set(d, float(kLogSigmaFloor)), softplus);
  return {log_sigma, exp_of(hn::Neg(log_sigma)), sigmoid_of(shifted)};
}

// rho of learnt sigmas, one per output, and of predicted ones.
struct LearntRho {
  const float* rho;
  template <class Lanes>
  VF operator()(const Lanes& lanes, std::int64_t i) const {
    return lanes.load(rho + i);
  }
};
struct PredictedRho {
  const float *o, *c;  // of the second head
  template <class Lanes>
  VF operator()(const Lanes& lanes, std::int64_t i) const {
    return hn::Add(lanes.load(o + i), lanes.load(c + i));
  }
};

// A sigma of its own for each output.
template <class Rho>
HWY_INLINE float gaussian_log_prob_each(const float* o, const float* c, const float* y,
                                        std::int64_t D, const Rho& rho) {
  const F32 d;
  VF squares = hn::Zero(d), logs = hn::Zero(d);
  for_vectors(D, [&](auto lanes, std::int64_t i) HWY_ATTR {
    const VectorDeviation sigma = deviation_in_vectors(rho(lanes, i));
    const VF residual = hn::Sub(lanes.load(y + i), hn::Add(lanes.load(o + i), lanes.load(c + i)));
    const VF z = hn::Mul(residual, sigma.inverse);
    squares = hn::MulAdd(z, z, squares);
    logs = hn::Add(logs, lanes.or_else(sigma.log_sigma, hn::Zero(d)));
  });
  return float(-0.5 * (double(sum_of(squares)) + double(D) * kLogTwoPi) - double(sum_of(logs)));
}

// rate_of in vectors.
struct VectorRate {
  VF base, stretch;
};

HWY_INLINE VectorRate rate_in_vectors(VF o) {
  const F32 d;
  const VF max = hn::Set(d, float(kMaxLogRate));
  return {exp_of(hn::Min(o, max)),
          hn::Add(hn::Set(d, 1.0f), hn::Max(hn::Sub(o, max), hn::Zero(d)))};
}

// Without the targets' log t!, which the particles of an example share.
float poisson_log_prob(const float* o, const float* c, const float* y, std::int64_t D) {
  const F32 d;
  VF sum = hn::Zero(d);
  for_vectors(D, [&](auto lanes, std::int64_t i) HWY_ATTR {
    const VF logit = hn::Add(lanes.load(o + i), lanes.load(c + i));
    const VectorRate rate = rate_in_vectors(logit);
    const VF log_rate =
        hn::Add(hn::Min(logit, hn::Set(d, float(kMaxLogRate))), hn::Log(d, rate.stretch));
    const VF term = hn::MulSub(lanes.load(y + i), log_rate, hn::Mul(rate.base, rate.stretch));
    sum = hn::Add(sum, lanes.or_else(term, hn::Zero(d)));
  });
  return sum_of(sum);
}

float log_factorials(const float* y, std::int64_t D) {
  double sum = 0;
  for (std::int64_t i = 0; i < D; ++i) sum += double(log_factorial(y[i]));
  return float(sum);
}

// Sums over v = o + c; c may be null.
LogSumExp<float> log_sum_exp(const float* o, const float* c, std::int64_t D) {
  const F32 d;
  const VF lowest = hn::Set(d, -INFINITY);
  const auto value = [&](auto lanes, std::int64_t i) HWY_ATTR {
    const VF v = lanes.load(o + i);
    return lanes.or_else(c ? hn::Add(v, lanes.load(c + i)) : v, lowest);
  };
  VF max = lowest;
  for_vectors(D, [&](auto lanes, std::int64_t i) HWY_ATTR { max = hn::Max(max, value(lanes, i)); });
  max = hn::MaxOfLanes(d, max);
  VF sum = hn::Zero(d);
  for_vectors(D, [&](auto lanes, std::int64_t i)
                     HWY_ATTR { sum = hn::Add(sum, exp_of(hn::Sub(value(lanes, i), max))); });
  return {hn::GetLane(max), sum_of(sum)};
}

void log_prob(const OutputLogProbArgs& args, std::int64_t first, std::int64_t count) {
  const auto& [p, log_w] = args;
  const std::int64_t D = p.D_out();
  float constant = 0;
  for (std::int64_t r = first; r < first + count; ++r) {
    const float* o = p.o.row(r);
    const float* y = target_of(p, r);
    switch (p.output) {
      case Output::bernoulli:
        log_w[r] = bernoulli_log_prob(o, p.c, y, D);
        break;
      case Output::gaussian:
      case Output::gaussian_learnt:
        log_w[r] = gaussian_log_prob(o, p.c, y, D, p.deviation(o, 0));
        break;
      case Output::gaussian_each:
        log_w[r] = gaussian_log_prob_each(o, p.c, y, D, LearntRho{p.scale.rho});
        break;
      case Output::gaussian_predicted:
        log_w[r] = gaussian_log_prob_each(o, p.c, y, D, PredictedRho{o + D, p.c + D});
        break;
      case Output::poisson:
        if (r == first || r % p.tile.M == 0) constant = log_factorials(y, D);
        log_w[r] = poisson_log_prob(o, p.c, y, D) - constant;
        break;
      case Output::softmax: {
        const auto k = std::int64_t(y[0]);
        log_w[r] = o[k] + p.c[k] - log_sum_exp(o, p.c, D).value();
        break;
      }
    }
    log_w[r] += p.scale.log_jacobian;
  }
}

// use(lanes, i, E[y_i | o]) for the vectors of a row.
template <class Use>
HWY_INLINE void for_means(Output output, const float* o, const float* c, std::int64_t D,
                          const Use& use) {
  const auto value = [&](auto lanes, std::int64_t i)
                         HWY_ATTR { return hn::Add(lanes.load(o + i), lanes.load(c + i)); };
  switch (output) {
    case Output::bernoulli:
      for_vectors(D, [&](auto lanes, std::int64_t i)
                         HWY_ATTR { use(lanes, i, sigmoid_of(value(lanes, i))); });
      break;
    case Output::gaussian:
    case Output::gaussian_learnt:
    case Output::gaussian_each:
    case Output::gaussian_predicted:
      for_vectors(D, [&](auto lanes, std::int64_t i) HWY_ATTR { use(lanes, i, value(lanes, i)); });
      break;
    case Output::poisson:
      for_vectors(D, [&](auto lanes, std::int64_t i) HWY_ATTR {
        const VectorRate rate = rate_in_vectors(value(lanes, i));
        use(lanes, i, hn::Mul(rate.base, rate.stretch));
      });
      break;
    case Output::softmax: {
      const VF lse = hn::Set(F32(), log_sum_exp(o, c, D).value());
      for_vectors(D, [&](auto lanes, std::int64_t i)
                         HWY_ATTR { use(lanes, i, exp_of(hn::Sub(value(lanes, i), lse))); });
      break;
    }
  }
}

// Examples first .. first + count.
void mean_output(const AccumulateMeanOutputArgs& args, std::int64_t first, std::int64_t count) {
  const auto& [p, mean] = args;
  for (std::int64_t r = first * p.tile.M; r < (first + count) * p.tile.M; ++r) {
    float* out = mean.row(r / p.tile.M);
    for_means(p.output, p.o.row(r), p.c, p.D_out(),
              [&](auto lanes, std::int64_t i, VF value)
                  HWY_ATTR { lanes.store(hn::Add(lanes.load(out + i), value), out + i); });
  }
}

// Eq. (15) (16): softmax and Bernoulli have g_o = weight (t - E[y | o])
void residual_grad(const OutputOperands& p, const float* o, const float* y, float weight,
                   float* g) {
  const VF w = hn::Set(F32(), weight);
  const bool one_hot = row_of(p.output).class_target;
  for_means(p.output, o, p.c, p.D_out(), [&](auto lanes, std::int64_t i, VF mean) HWY_ATTR {
    const VF residual = one_hot ? hn::Neg(mean) : hn::Sub(lanes.load(y + i), mean);
    lanes.store(hn::Mul(w, residual), g + i);
  });
  if (one_hot) g[std::int64_t(y[0])] += weight;
}

// One sigma for all outputs. Returns weight * d log P / d rho.
float gaussian_grad(const OutputOperands& p, const float* o, const float* y, float weight,
                    float* g) {
  const Deviation<float> deviation = p.deviation(o, 0);
  const F32 d;
  const VF w = hn::Set(d, weight), inverse = hn::Set(d, deviation.inverse);
  VF squares = hn::Zero(d);
  for_vectors(p.D_out(), [&](auto lanes, std::int64_t i) HWY_ATTR {
    const VF residual = hn::Sub(lanes.load(y + i), hn::Add(lanes.load(o + i), lanes.load(p.c + i)));
    const VF z = hn::Mul(residual, inverse);
    squares = hn::MulAdd(z, z, squares);
    lanes.store(hn::Mul(w, hn::Mul(z, inverse)), g + i);
  });
  return weight * deviation.slope * (sum_of(squares) - float(p.D_out()));
}

// A sigma of its own for each output; g_rho: where weight * d log P / d rho goes.
template <class Rho>
HWY_INLINE void gaussian_grad_each(const OutputOperands& p, const float* o, const float* y,
                                   const Rho& rho, float weight, float* g, float* g_rho) {
  const F32 d;
  const VF w = hn::Set(d, weight);
  for_vectors(p.D_out(), [&](auto lanes, std::int64_t i) HWY_ATTR {
    const VectorDeviation sigma = deviation_in_vectors(rho(lanes, i));
    const VF residual = hn::Sub(lanes.load(y + i), hn::Add(lanes.load(o + i), lanes.load(p.c + i)));
    const VF z = hn::Mul(residual, sigma.inverse);
    lanes.store(hn::Mul(w, hn::Mul(z, sigma.inverse)), g + i);
    const VF score = hn::Mul(hn::MulSub(z, z, hn::Set(d, 1.0f)), sigma.slope);
    lanes.store(hn::Mul(w, score), g_rho + i);
  });
}

void poisson_grad(const OutputOperands& p, const float* o, const float* y, float weight, float* g) {
  const VF w = hn::Set(F32(), weight);
  for_vectors(p.D_out(), [&](auto lanes, std::int64_t i) HWY_ATTR {
    const VectorRate rate = rate_in_vectors(hn::Add(lanes.load(o + i), lanes.load(p.c + i)));
    const VF score = hn::Sub(hn::Div(lanes.load(y + i), rate.stretch), rate.base);
    lanes.store(hn::Mul(w, score), g + i);
  });
}

void grad(const OutputGradArgs& args, std::int64_t first, std::int64_t count) {
  const auto& [p, weights, rows, g_o, g_scale] = args;
  const std::int64_t D = p.D_out();
  for (std::int64_t k = first; k < first + count; ++k) {
    const std::int64_t r = rows.source(k);
    const float *o = p.o.row(r), *y = target_of(p, r);
    const float weight = weights[r];
    float* g = g_o.row(k);
    switch (p.output) {
      case Output::softmax:
      case Output::bernoulli:
        residual_grad(p, o, y, weight, g);
        break;
      case Output::gaussian:
        gaussian_grad(p, o, y, weight, g);
        break;
      case Output::gaussian_learnt:
        g_scale.row(k)[0] = gaussian_grad(p, o, y, weight, g);
        break;
      case Output::gaussian_each:
        gaussian_grad_each(p, o, y, LearntRho{p.scale.rho}, weight, g, g_scale.row(k));
        break;
      case Output::gaussian_predicted:
        gaussian_grad_each(p, o, y, PredictedRho{o + D, p.c + D}, weight, g, g + D);
        break;
      case Output::poisson:
        poisson_grad(p, o, y, weight, g);
        break;
    }
  }
}

void weights(const ParticleWeightsArgs& p, std::int64_t first, std::int64_t count) {
  const auto& [tile, log_w, w_bar, C_hat, ess, omega_rule, omega] = p;
  const F32 d;
  for (std::int64_t n = first; n < first + count; ++n) {
    const float* row = log_w + n * tile.M;
    float* w = w_bar + n * tile.M;
    const LogSumExp<float> total = log_sum_exp(row, nullptr, tile.M);
    const VF max = hn::Set(d, total.max), sum = hn::Set(d, total.sum);
    VF squares = hn::Zero(d);
    for_vectors(tile.M, [&](auto lanes, std::int64_t i) HWY_ATTR {
      const VF value = hn::Div(exp_of(hn::Sub(lanes.load(row + i), max)), sum);
      lanes.store(value, w + i);
      const VF present = lanes.or_else(value, hn::Zero(d));
      squares = hn::MulAdd(present, present, squares);
    });
    C_hat[n] = total.value() - std::log(float(tile.M));
    ess[n] = 1.0f / sum_of(squares);
    if (omega_rule == OmegaRule::none || omega == w_bar) continue;
    ParticleRow<float> particles{float(tile.M), C_hat[n], total};
    if (compares_particles(omega_rule))
      for (std::int64_t m = 0; m < tile.M; ++m) particles.add(row[m]);
    for (std::int64_t m = 0; m < tile.M; ++m)
      omega[n * tile.M + m] = omega_at(omega_rule, particles, row[m], w[m]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sfnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sfnn {
HWY_EXPORT(log_prob);
HWY_EXPORT(mean_output);
HWY_EXPORT(grad);
HWY_EXPORT(weights);

void cpu::output_log_prob(const OutputLogProbArgs& p) {
  share_range(p.of.o.rows, p.of.o.cols, 1, [&](std::int64_t first, std::int64_t count) {
    HWY_DYNAMIC_DISPATCH(log_prob)(p, first, count);
  });
}

void cpu::accumulate_mean_output(const AccumulateMeanOutputArgs& p) {
  const Tile& tile = p.of.tile;
  share_range(tile.N, tile.M * p.of.o.cols, 1, [&](std::int64_t first, std::int64_t count) {
    HWY_DYNAMIC_DISPATCH(mean_output)(p, first, count);
  });
}

void cpu::output_grad(const OutputGradArgs& p) {
  share_range(p.rows.count, p.g_o.cols, 1, [&](std::int64_t first, std::int64_t count) {
    HWY_DYNAMIC_DISPATCH(grad)(p, first, count);
  });
}

void cpu::particle_weights(const ParticleWeightsArgs& p) {
  share_range(p.tile.N, p.tile.M, 1, [&](std::int64_t first, std::int64_t count) {
    HWY_DYNAMIC_DISPATCH(weights)(p, first, count);
  });
}

}  // namespace sfnn
#endif  // HWY_ONCE
