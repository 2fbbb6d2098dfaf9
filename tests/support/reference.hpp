// The oracle: what a pass computes, in double precision, one particle after another.
//
// It is written from the equations and not from the engine's loops. Nothing is shared over
// particles, dropped, fused or tiled here; clarity is all it is for.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "host/model/network.hpp"
#include "kernels/estimators.hpp"

namespace sfnn {

using Vector = std::vector<double>;
using LayerBits = std::vector<std::vector<std::uint8_t>>;  // per hidden layer: [N*M, n_s], 0 or 1

// N examples with M particles each; row r = n*M + m.
struct ReferenceBatch {
  std::int64_t N = 0, M = 1;
  Vector x = {};        // [N, D_in]
  Vector y = {};        // [N, D_out]; softmax: [N, 1], the class as a number
  LayerBits bits = {};  // what every stochastic unit drew
  // Per hidden layer [N*M, n_s]. If given, it replaces the bits: s = sigma(a) + eps, Eq. (20).
  // C_hat is then a smooth function of every parameter, and G3 its derivative.
  std::vector<Vector> eps = {};
};

struct ReferenceEstimator {
  Estimator id = Estimator::G3;
  std::optional<double> c = {};    // constant of G5 and vimco; 1/M and log(M/(M-1)) unless set
  std::vector<Vector> L_bar = {};  // G1's baseline, per hidden layer [n_s]; empty: zero everywhere
  // st_gumbel: temperature, and where the uniforms come from that decided the draws; or, instead of
  // e at each of them, its mean over all that give the unit's bit.
  double T = 1;
  std::uint64_t seed = 1;
  std::uint32_t step = 0;
  bool mean_over_u = false;
};

struct ReferenceLayer {  // for one particle
  Vector z;              // what it reads
  Vector a, p, s;        // stochastic units; a = 0 if p = 1/2 is fixed
  Vector score;          // s - p
  Vector d;
  Vector slope_d, slope_d_magnitude;
  Vector e, e_magnitude;  // in dh/da's place, if a path estimator is asked for
};

struct ReferenceParticle {
  std::vector<ReferenceLayer> layers;
  Vector top;  // what the output reads: the last layer's output, or x if there is none
  Vector o;
  double log_w = 0;  // log P(y | h)
  double log_p = 0;  // log P(h | x), fixed units included
};

struct ReferenceResult {
  std::vector<ReferenceParticle> particles;  // [N*M]
  Vector log_w, w_bar;                       // [N*M]
  Vector C_hat;                              // [N]
  // Sums over the examples, flat, in the order of ParamLayout.
  Vector gradient;
  // The same sums over the absolute values of all terms: what rounding errors are proportional to.
  Vector gradient_magnitude;
  // For G1's moving averages, per hidden layer [n_s]: sums over all rows of score^2, score^2 C_hat.
  std::vector<Vector> score2, score2_C_hat;
};

ReferenceResult reference_pass(const NetworkSpec&, const Vector& params, const ReferenceBatch&,
                               const ReferenceEstimator& = {});

// One particle, forward. draw(layer, unit, p) gives the value of a stochastic unit.
using DrawUnit = std::function<double(std::int64_t, std::int64_t, double)>;
ReferenceParticle reference_forward(const NetworkSpec&, const Vector& params, const Vector& x,
                                    const Vector& y, const DrawUnit& draw);

// Eq. (15), (16): weight * d log P(y|o) of one particle, by its logits and by rho.
struct ReferenceOutputGradient {
  Vector o, rho;
};
ReferenceOutputGradient reference_output_gradient(const NetworkSpec&, const Vector& params,
                                                  const ReferenceParticle&, double weight,
                                                  const Vector& y);
// The chain rule of one particle, from gradients at its output and at its stochastic units' inputs
// (per hidden layer [n_s]); they flow into computed units, not into drawn ones. Adds to `gradient`.
void reference_backward(const NetworkSpec&, const Vector& params, const ReferenceParticle&,
                        const ReferenceOutputGradient&, const std::vector<Vector>& g_score,
                        Vector& gradient);

// The bits that every unit draws from Philox at this seed and step; hidden layer l (from 0) uses
// site l, example n of the batch counts as first + n.
LayerBits reference_draws(const NetworkSpec&, const Vector& params, const ReferenceBatch&,
                          std::uint64_t seed, std::uint32_t step, std::uint32_t first = 0);

double log_sum_exp(const Vector&);
Vector to_double(const std::vector<float>&);

}  // namespace sfnn
