#include "tests/support/reference.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/philox.hpp"
#include "tests/support/reference_outputs.hpp"

namespace sfnn {
namespace {

const Vector kOne{1.0};  // a bias is the weight of an input that is always one

using Model = ReferenceModel;

// out += z W
void add_product(const Vector& z, const ParamSlot& W, const Vector& params, Vector& out) {
  for (std::int64_t j = 0; j < W.rows; ++j)
    for (std::int64_t i = 0; i < W.cols; ++i) out[i] += z[j] * params[W.offset + j * W.cols + i];
}

// out += g W^T
void add_transposed_product(const Vector& g, const ParamSlot& W, const Vector& params,
                            Vector& out) {
  for (std::int64_t j = 0; j < W.rows; ++j)
    for (std::int64_t i = 0; i < W.cols; ++i) out[j] += g[i] * params[W.offset + j * W.cols + i];
}

// G(W) += z^T g
void add_outer(const Vector& z, const Vector& g, const ParamSlot& W, Vector& gradient) {
  for (std::int64_t j = 0; j < W.rows; ++j)
    for (std::int64_t i = 0; i < W.cols; ++i) gradient[W.offset + j * W.cols + i] += z[j] * g[i];
}

Vector row(const Vector& matrix, std::int64_t r, std::int64_t cols) {
  return Vector(matrix.begin() + r * cols, matrix.begin() + (r + 1) * cols);
}

// Each unit by its own formula, too. The terms of d (1 - d) are d and d^2: the slope of a saturated
// unit is a small difference.
struct DeterministicUnit {
  double value, slope, slope_magnitude;
};

DeterministicUnit deterministic_unit(Activation activation, double a) {
  switch (activation) {
    case Activation::sigmoid: {
      const double d = reference_sigmoid(a);
      return {d, d * (1 - d), d};
    }
    case Activation::tanh: {
      const double d = std::tanh(a), e = std::cosh(a);
      return {d, 1 / (e * e), 1};
    }
    case Activation::relu:
      return a > 0 ? DeterministicUnit{a, 1, 1} : DeterministicUnit{0, 0, 0};
  }
  return {0, 0, 0};
}

ReferenceParticle forward(const Model& model, const Vector& x, const Vector& y,
                          const DrawUnit& draw) {
  const auto& [spec, layout, params] = model;
  ReferenceParticle particle;
  particle.top = x;
  for (std::int64_t l = 0; l < spec.depth(); ++l) {
    const LayerSpec& shape = spec.hidden[l];
    const LayerSlots& slots = layout.hidden[l];
    ReferenceLayer layer;
    layer.z = particle.top;

    layer.a.assign(shape.n_s, 0.0);  // p = 1/2 if no weights add to it
    add_product(layer.z, slots.W_s, params, layer.a);
    add_product(kOne, slots.b_s, params, layer.a);
    for (std::int64_t i = 0; i < shape.n_s; ++i) {  // Eq. (1), (7)
      layer.p.push_back(reference_sigmoid(layer.a[i]));
      layer.s.push_back(draw(l, i, layer.p[i]));
      layer.score.push_back(layer.s[i] - layer.p[i]);
      particle.log_p += layer.s[i] * reference_log_sigmoid(layer.a[i]) +
                        (1 - layer.s[i]) * reference_log_sigmoid(-layer.a[i]);
    }

    layer.d.assign(shape.n_d, 0.0);
    add_product(layer.z, slots.W_d, params, layer.d);
    add_product(layer.s, slots.U, params, layer.d);
    add_product(kOne, slots.b_d, params, layer.d);
    for (double& d : layer.d) {
      const DeterministicUnit unit = deterministic_unit(shape.activation, d);
      d = unit.value;
      layer.slope_d.push_back(unit.slope);
      layer.slope_d_magnitude.push_back(unit.slope_magnitude);
    }

    particle.top = shape.n_d > 0 ? layer.d : layer.s;
    particle.layers.push_back(layer);
  }
  particle.o.assign(spec.logits(), 0.0);
  add_product(particle.top, layout.V, params, particle.o);
  add_product(kOne, layout.c, params, particle.o);
  particle.log_w = reference_log_prob(model, particle.o, y);
  return particle;
}

// Each estimator by its own formula: nothing here comes from the engine's table of rules.
bool is_path(Estimator e) {
  switch (e) {
    case Estimator::G1:
    case Estimator::G4:
    case Estimator::G5:
    case Estimator::vimco:
    case Estimator::vimco_geometric:
    case Estimator::rloo:
      return false;
    case Estimator::G2:
    case Estimator::G3:
    case Estimator::darn:
    case Estimator::st_gumbel:
      return true;
  }
  return false;
}

// dz/da of the relaxed draw z = sigma((a - logit u) / T).
double gumbel_slope(double a, double u, double T) {
  const double z = reference_sigmoid((a - std::log(u) + std::log1p(-u)) / T);
  return z * (1 - z) / T;
}

// Its mean over the u that give h, uniform on (0, p] or (p, 1]: by the midpoint rule.
double mean_gumbel_slope(double a, double h, double T) {
  constexpr int kPoints = 2000;
  const double p = reference_sigmoid(a), first = h == 1 ? 0 : p, width = h == 1 ? p : 1 - p;
  double sum = 0;
  for (int k = 0; k < kPoints; ++k)
    sum += gumbel_slope(a, first + width * (k + 0.5) / kPoints, T) / kPoints;
  return sum;
}

// What a path estimator puts in dh/da's place, and the magnitude of its terms.
struct PathFactor {
  double e = 0, magnitude = 0;
};

PathFactor path_factor(const ReferenceEstimator& of, double a, double h, double u) {
  const double p = reference_sigmoid(a);
  switch (of.id) {
    case Estimator::G1:
    case Estimator::G4:
    case Estimator::G5:
    case Estimator::vimco:
    case Estimator::vimco_geometric:
    case Estimator::rloo:
      return {};
    case Estimator::G2:  // Eq. (19)
      return {1, 1};
    case Estimator::G3:  // Eq. (22); the slope of a saturated unit is a small difference
      return {p * (1 - p), p};
    case Estimator::darn:
      return {std::abs(h - p) / 2, (h + p) / 2};
    case Estimator::st_gumbel: {
      if (of.mean_over_u) return {mean_gumbel_slope(a, h, of.T), 1 / of.T};
      const double z = reference_sigmoid((a - std::log(u) + std::log1p(-u)) / of.T);
      return {gumbel_slope(a, u, of.T), z / of.T};
    }
  }
  return {};
}

// What weighs G(o) of a particle.
double output_weight(Estimator e, double w_bar, std::int64_t M) {
  switch (e) {
    case Estimator::G1:
    case Estimator::G2:
    case Estimator::G3:
    case Estimator::G4:
    case Estimator::G5:
    case Estimator::vimco:
    case Estimator::vimco_geometric:
    case Estimator::darn:
    case Estimator::st_gumbel:
      return w_bar;
    case Estimator::rloo:
      return 1 / double(M);
  }
  return 0;
}

// A score estimator's g_a is (omega - beta) * score; beta belongs to the unit.
struct ScoreWeight {
  double omega = 0;
  Vector beta;
  double omega_magnitude = std::abs(omega);  // of its terms
};

// The log-weights of an example without particle m's.
Vector others(Vector log_w, std::int64_t m) {
  log_w.erase(log_w.begin() + m);
  return log_w;
}

double mean(const Vector& v) {
  double sum = 0;
  for (double e : v) sum += e;
  return sum / double(v.size());
}

// C_hat of the others, or with their geometric mean in the place of particle m.
double C_hat_without(const Vector& log_w, std::int64_t m) {
  const Vector rest = others(log_w, m);
  return log_sum_exp(rest) - std::log(double(rest.size()));
}
double C_hat_with_geometric_mean(Vector log_w, std::int64_t m) {
  log_w[std::size_t(m)] = mean(others(log_w, m));
  return log_sum_exp(log_w) - std::log(double(log_w.size()));
}

// log_w: of the example's M particles, of which this is m.
ScoreWeight score_weight(const ReferenceEstimator& e, const Vector& log_w, std::int64_t m,
                         std::int64_t l, std::int64_t n_s, double w_bar, double C_hat) {
  const auto M = std::int64_t(log_w.size());
  const Vector zero(n_s, 0.0);
  switch (e.id) {
    case Estimator::G1:  // Eq. (17) with L = C_hat
      return {C_hat, e.L_bar.empty() ? zero : e.L_bar[l]};
    case Estimator::G4:  // Eq. (30)
      return {w_bar, zero};
    case Estimator::G5:  // Eq. (32)
      return {w_bar, Vector(n_s, e.c.value_or(1.0 / double(M)))};
    case Estimator::vimco: {
      if (M == 1) return {0, Vector(n_s, e.c.value_or(0))};
      const double equals = std::log(double(M) / double(M - 1));
      return {C_hat - C_hat_without(log_w, m) + equals, Vector(n_s, e.c.value_or(equals))};
    }
    case Estimator::vimco_geometric: {
      const double omega = M == 1 ? 0 : C_hat - C_hat_with_geometric_mean(log_w, m);
      return {omega, zero, 1 + std::abs(omega)};
    }
    case Estimator::rloo: {
      const double omega =
          M == 1 ? 0 : (log_w[std::size_t(m)] - mean(others(log_w, m))) / double(M);
      return {omega, zero, 1 / double(M) + std::abs(omega)};
    }
    case Estimator::G2:
    case Estimator::G3:
    case Estimator::darn:
    case Estimator::st_gumbel:
      break;
  }
  return {0, zero};
}

// Starts the gradient of one particle: at its output, and at every score unit.
struct Sources {
  Vector g_o, g_rho;
  std::vector<Vector> g_score;  // per hidden layer [n_s]
};

// The chain rule of one particle. The result is linear in the sources, with weights, inputs and
// sigma' as coefficients: of absolute values it makes the sum of the magnitudes of all terms.
void backward(const Model& model, Estimator estimator, const ReferenceParticle& particle,
              const Sources& sources, Vector& gradient) {
  const auto& [spec, layout, params] = model;
  const bool path = is_path(estimator);
  add_outer(particle.top, sources.g_o, layout.V, gradient);
  add_outer(kOne, sources.g_o, layout.c, gradient);
  add_outer(kOne, sources.g_rho, layout.rho, gradient);
  Vector g_z(particle.top.size(), 0.0);  // G(h): what arrives at a layer's output
  add_transposed_product(sources.g_o, layout.V, params, g_z);

  for (std::int64_t l = spec.depth() - 1; l >= 0; --l) {
    const LayerSpec& shape = spec.hidden[l];
    const ReferenceLayer& layer = particle.layers[l];
    const LayerSlots& slots = layout.hidden[l];
    Vector g_below(layer.z.size(), 0.0);

    Vector g_s = g_z;
    if (shape.n_d > 0) {
      Vector g_ad = g_z;
      for (std::int64_t i = 0; i < shape.n_d; ++i) g_ad[i] *= layer.slope_d[i];
      add_outer(layer.z, g_ad, slots.W_d, gradient);
      add_outer(layer.s, g_ad, slots.U, gradient);
      add_outer(kOne, g_ad, slots.b_d, gradient);
      add_transposed_product(g_ad, slots.W_d, params, g_below);
      g_s.assign(shape.n_s, 0.0);
      add_transposed_product(g_ad, slots.U, params, g_s);
    }

    if (shape.trains_s()) {
      Vector g_a = sources.g_score[l];
      for (std::int64_t i = 0; i < shape.n_s && path; ++i) g_a[i] = g_s[i] * layer.e[i];
      add_outer(layer.z, g_a, slots.W_s, gradient);
      add_outer(kOne, g_a, slots.b_s, gradient);
      // A score is a derivative of log P(s | z) in which a sampled z is held, but not a computed
      // one.
      const bool z_is_sampled = l > 0 && spec.hidden[l - 1].n_d == 0;
      if (path || !z_is_sampled) add_transposed_product(g_a, slots.W_s, params, g_below);
    }
    g_z = g_below;
  }
}

Vector absolute(Vector v) {
  for (double& e : v) e = std::abs(e);
  return v;
}

ReferenceParticle absolute(ReferenceParticle particle) {
  particle.top = absolute(particle.top);
  for (ReferenceLayer& layer : particle.layers) {
    layer.z = absolute(layer.z);
    layer.s = absolute(layer.s);
    layer.e = layer.e_magnitude;
    layer.slope_d = layer.slope_d_magnitude;
  }
  return particle;
}

void set_path_factors(const ReferenceEstimator& of, std::int64_t n, std::int64_t m,
                      ReferenceParticle& particle) {
  for (std::size_t l = 0; l < particle.layers.size(); ++l) {
    ReferenceLayer& layer = particle.layers[l];
    const DrawKey key{of.seed, of.step, std::uint32_t(l)};
    for (std::size_t i = 0; i < layer.a.size(); ++i) {
      const double u = uniform(key, std::uint32_t(n), std::uint32_t(m), std::int64_t(i));
      const auto [e, magnitude] = path_factor(of, layer.a[i], layer.s[i], u);
      layer.e.push_back(e);
      layer.e_magnitude.push_back(magnitude);
    }
  }
}

// The gradient of row r, and the magnitude of its terms, added to the result's.
void add_gradient(const Model& model, const Model& absolute_model, const Vector& y,
                  const ReferenceEstimator& e, std::int64_t M, std::int64_t r,
                  ReferenceResult& result) {
  const NetworkSpec& spec = model.spec;
  ReferenceParticle& particle = result.particles[r];
  set_path_factors(e, r / M, r % M, particle);
  const double w_bar = result.w_bar[r], C_hat = result.C_hat[r / M];
  const double weight = output_weight(e.id, w_bar, M);
  const Vector log_w(result.log_w.begin() + r / M * M, result.log_w.begin() + (r / M + 1) * M);
  const OutputScores score = reference_output_scores(model, particle.o, y);  // Eq. (15), (16)
  const auto weighed = [&](Vector v) {
    for (double& element : v) element *= weight;
    return v;
  };
  Sources sources{.g_o = weighed(score.o), .g_rho = weighed(score.rho), .g_score = {}};
  Sources magnitudes{.g_o = weighed(score.o_size), .g_rho = weighed(score.rho_size), .g_score = {}};
  for (std::int64_t l = 0; l < spec.depth(); ++l) {
    const ReferenceLayer& layer = particle.layers[l];
    const std::int64_t n_s = spec.hidden[l].n_s;
    const auto [omega, beta, omega_magnitude] = score_weight(e, log_w, r % M, l, n_s, w_bar, C_hat);
    Vector g(n_s), magnitude(n_s);
    for (std::int64_t i = 0; i < n_s; ++i) {
      g[i] = (omega - beta[i]) * layer.score[i];
      magnitude[i] = (omega_magnitude + std::abs(beta[i])) * (std::abs(layer.s[i]) + layer.p[i]);
    }
    sources.g_score.push_back(g);
    magnitudes.g_score.push_back(magnitude);
  }
  backward(model, e.id, particle, sources, result.gradient);
  backward(absolute_model, e.id, absolute(particle), magnitudes, result.gradient_magnitude);
}

void add_baseline_sums(const ReferenceParticle& particle, double C_hat, ReferenceResult& result) {
  for (std::size_t l = 0; l < particle.layers.size(); ++l) {
    const Vector& score = particle.layers[l].score;
    for (std::size_t i = 0; i < score.size(); ++i) {
      result.score2[l][i] += score[i] * score[i];
      result.score2_C_hat[l][i] += score[i] * score[i] * C_hat;
    }
  }
}

}  // namespace

double log_sum_exp(const Vector& v) {
  const double top = *std::max_element(v.begin(), v.end());
  double sum = 0;
  for (double e : v) sum += std::exp(e - top);
  return top + std::log(sum);
}

Vector to_double(const std::vector<float>& v) { return Vector(v.begin(), v.end()); }

ReferenceParticle reference_forward(const NetworkSpec& spec, const Vector& params, const Vector& x,
                                    const Vector& y, const DrawUnit& draw) {
  return forward({spec, ParamLayout(spec), params}, x, y, draw);
}

ReferenceOutputGradient reference_output_gradient(const NetworkSpec& spec, const Vector& params,
                                                  const ReferenceParticle& particle, double weight,
                                                  const Vector& y) {
  OutputScores score = reference_output_scores({spec, ParamLayout(spec), params}, particle.o, y);
  for (Vector* g : {&score.o, &score.rho})
    for (double& element : *g) element *= weight;
  return {score.o, score.rho};
}

void reference_backward(const NetworkSpec& spec, const Vector& params,
                        const ReferenceParticle& particle, const ReferenceOutputGradient& output,
                        const std::vector<Vector>& g_score, Vector& gradient) {
  backward({spec, ParamLayout(spec), params}, Estimator::G4, particle,
           {output.o, output.rho, g_score}, gradient);
}

ReferenceResult reference_pass(const NetworkSpec& spec, const Vector& params,
                               const ReferenceBatch& batch, const ReferenceEstimator& estimator) {
  const Model model{spec, ParamLayout(spec), params};
  const Model absolute_model{spec, model.layout, absolute(params)};
  ReferenceResult result;
  result.gradient.assign(params.size(), 0.0);
  result.gradient_magnitude.assign(params.size(), 0.0);
  for (const LayerSpec& layer : spec.hidden) {
    result.score2.emplace_back(layer.n_s, 0.0);
    result.score2_C_hat.emplace_back(layer.n_s, 0.0);
  }

  const std::int64_t M = batch.M;
  for (std::int64_t n = 0; n < batch.N; ++n) {
    const Vector x = row(batch.x, n, spec.D_in), y = row(batch.y, n, reference_target_width(spec));
    Vector log_w;
    for (std::int64_t r = n * M; r < (n + 1) * M; ++r) {
      const DrawUnit draw = [&](std::int64_t l, std::int64_t i, double p) {
        const std::int64_t at = r * spec.hidden[l].n_s + i;
        return batch.eps.empty() ? double(batch.bits[l][at]) : p + batch.eps[l][at];
      };
      result.particles.push_back(forward(model, x, y, draw));
      log_w.push_back(result.particles.back().log_w);
    }
    const double C_hat = log_sum_exp(log_w) - std::log(double(M));  // Eq. (6)
    result.C_hat.push_back(C_hat);
    for (double v : log_w) {
      result.log_w.push_back(v);
      result.w_bar.push_back(std::exp(v - log_sum_exp(log_w)));  // Eq. (28)
    }
    for (std::int64_t r = n * M; r < (n + 1) * M; ++r) {
      add_gradient(model, absolute_model, y, estimator, M, r, result);
      add_baseline_sums(result.particles[r], C_hat, result);
    }
  }
  return result;
}

LayerBits reference_draws(const NetworkSpec& spec, const Vector& params,
                          const ReferenceBatch& batch, std::uint64_t seed, std::uint32_t step,
                          std::uint32_t first) {
  const Model model{spec, ParamLayout(spec), params};
  LayerBits bits(spec.hidden.size());
  for (std::int64_t n = 0; n < batch.N; ++n) {
    const Vector x = row(batch.x, n, spec.D_in), y = row(batch.y, n, reference_target_width(spec));
    for (std::int64_t m = 0; m < batch.M; ++m) {
      const DrawUnit draw = [&](std::int64_t l, std::int64_t i, double p) {
        const DrawKey key{seed, step, std::uint32_t(l)};
        bits[l].push_back(uniform(key, first + std::uint32_t(n), std::uint32_t(m), i) <= p);
        return double(bits[l].back());
      };
      forward(model, x, y, draw);
    }
  }
  return bits;
}

}  // namespace sfnn
