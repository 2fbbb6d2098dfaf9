// A learned proposal R(h | x, y), which particles can be drawn from instead of P(h | x): the
// formulas of their weights and of what they teach.
//
// R has P's units in P's order, with logits r = a + b + e. e comes from (x, y), so that the
// particles of an example share it; e = 0 is P itself. With delta = log P(h|x) - log R(h|x,y) and
// the first MP of M particles drawn from P, a particle's weight by the balance heuristic is
//   log_w = log P(y|h) - log(MP/M + (1 - MP/M) exp(-delta)).
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/activations.hpp"
#include "kernels/hd.hpp"
#include "kernels/views.hpp"

namespace sfnn {

// What P and R learn from the particles.
enum class ProposalRule : std::int32_t {
  // Reweighted wake-sleep: both are fitted to the particles by w_bar. Their own distribution is
  // taken as given: no gradient goes through r into P.
  rws,
  // The gradient of E[C_hat_M] itself, by leave-one-out differences.
  bound,
};

// e of one layer's units, and which particles are drawn with it.
struct ProposalLogits {
  ConstMatrix e;                // [N, units of all layers], without its bias; data null: no R
  const float* bias = nullptr;  // [units of all layers]
  std::int64_t first = 0;       // the layer's first unit
  std::int64_t from_P = 0;      // MP: so many particles, the first, are drawn from P

  SFNN_HD float at(std::int64_t n, std::int64_t i) const {
    return e.row(n)[first + i] + bias[first + i];
  }
  SFNN_HD bool draws(std::int64_t particle) const { return e.data && particle >= from_P; }
};

// One unit's share of delta; logit = a + b. Zero for e = 0, to the last bit.
template <class Real>
SFNN_HD Real log_ratio_at(Real logit, Real e, Real h) {
  return softplus(logit + e) - softplus(logit) - h * e;
}

// What a particle's delta adds to log P(y|h); share_P = MP/M. Neither form overflows, and both are
// exactly zero at delta = 0. With share_P = 1 the second would end in log 0 for a delta far below.
template <class Real>
SFNN_HD Real log_weight_of_ratio(Real delta, Real share_P) {
  if (share_P == Real(0)) return delta;
  if (share_P == Real(1)) return Real(0);
  return delta > Real(0) ? -std::log1p((Real(1) - share_P) * std::expm1(-delta))
                         : delta - std::log1p(share_P * std::expm1(delta));
}

// 1 - pi, R's share of the mixture's density at h; pi = (MP/M) P / mixture.
template <class Real>
SFNN_HD Real mixture_share_of_R(Real delta, Real share_P) {
  if (share_P == Real(0)) return Real(1);
  if (share_P == Real(1)) return Real(0);
  return Real(1) / (Real(1) + share_P / (Real(1) - share_P) * std::exp(delta));
}

// What multiplies a particle's scores: h - sigma(a) for P, h - sigma(r) for R.
template <class Real>
struct ScoreWeights {
  Real P, R;
};

// omega: -log(1 - w_bar), which is C_hat - C_hat of the other particles + log(M / (M - 1)); only
// `bound` reads it. c is taken off the particles of P, and 1/M off those of R for R's own gradient:
// a constant times a score has mean zero under the distribution that the particle was drawn from,
// and under no other.
template <class Real>
SFNN_HD ScoreWeights<Real> score_weights_at(ProposalRule rule, bool from_P, Real share_P, Real c,
                                            Real M, Real w_bar, Real omega, Real delta) {
  switch (rule) {
    case ProposalRule::rws:
      return {from_P ? w_bar - c : w_bar, from_P ? w_bar : w_bar - Real(1) / M};
    case ProposalRule::bound: {
      const Real gain = omega + std::log1p(Real(-1) / M);
      const Real through_w = w_bar * mixture_share_of_R(delta, share_P);  // d log_w / d delta
      return {through_w + (from_P ? gain : Real(0)), (from_P ? Real(0) : gain) - through_w};
    }
  }
  return {Real(0), Real(0)};
}

}  // namespace sfnn
