#include "tests/support/enumerate.hpp"

#include <cmath>

#include "host/base/error.hpp"

namespace sfnn {
namespace {

double log_p_of(const ReferenceResult& result) {
  double sum = 0;
  for (const ReferenceParticle& particle : result.particles) sum += particle.log_p;
  return sum;
}

}  // namespace

void for_each_assignment(const NetworkSpec& spec, std::int64_t rows,
                         const std::function<void(const LayerBits&)>& fn) {
  LayerBits bits;
  std::int64_t count = 0;
  for (const LayerSpec& layer : spec.hidden) {
    bits.emplace_back(rows * layer.n_s, std::uint8_t(0));
    count += rows * layer.n_s;
  }
  if (count > kMaxEnumeratedBits) throw ShapeError("too many hidden bits to enumerate");
  for (std::uint64_t code = 0; code < std::uint64_t(1) << count; ++code) {
    std::uint64_t rest = code;
    for (auto& layer : bits) {
      for (std::uint8_t& bit : layer) {
        bit = rest & 1;
        rest >>= 1;
      }
    }
    fn(bits);
  }
}

ReferenceBatch single_example(const NetworkSpec& spec, const ReferenceBatch& batch,
                              std::int64_t n) {
  const std::int64_t y_width = spec.target_width();
  ReferenceBatch one{.N = 1, .M = batch.M};
  one.x.assign(batch.x.begin() + n * spec.D_in, batch.x.begin() + (n + 1) * spec.D_in);
  one.y.assign(batch.y.begin() + n * y_width, batch.y.begin() + (n + 1) * y_width);
  return one;
}

std::vector<Outcome> enumerate_particle(const NetworkSpec& spec, const Vector& params,
                                        const ReferenceBatch& batch, std::int64_t n) {
  const ReferenceBatch example = single_example(spec, batch, n);
  std::vector<Outcome> outcomes;
  for_each_assignment(spec, /*rows=*/1, [&](const LayerBits& bits) {
    const auto draw = [&](std::int64_t l, std::int64_t i, double) { return double(bits[l][i]); };
    const ReferenceParticle particle = reference_forward(spec, params, example.x, example.y, draw);
    outcomes.push_back({particle.log_p, particle.log_w});
  });
  return outcomes;
}

double exact_log_likelihood(const std::vector<Outcome>& outcomes) {
  Vector joint;
  for (const Outcome& outcome : outcomes) joint.push_back(outcome.log_p + outcome.log_w);
  return log_sum_exp(joint);
}

double expected_C_hat(const std::vector<Outcome>& outcomes, std::int64_t M,
                      const std::function<double(double)>& f) {
  Vector log_w;
  const std::function<double(double)> rest = [&](double probability) {
    if (std::int64_t(log_w.size()) == M)
      return probability * f(log_sum_exp(log_w) - std::log(double(M)));
    double sum = 0;
    for (const Outcome& outcome : outcomes) {
      log_w.push_back(outcome.log_w);
      sum += rest(probability * std::exp(outcome.log_p));
      log_w.pop_back();
    }
    return sum;
  };
  return rest(1.0);
}

GradientMoments enumerate_gradient(const NetworkSpec& spec, const Vector& params,
                                   const ReferenceBatch& batch,
                                   const ReferenceEstimator& estimator) {
  GradientMoments moments{Vector(params.size(), 0.0), Vector(params.size(), 0.0)};
  for (std::int64_t n = 0; n < batch.N; ++n) {
    ReferenceBatch example = single_example(spec, batch, n);
    Vector mean(params.size(), 0.0), square(params.size(), 0.0);
    for_each_assignment(spec, batch.M, [&](const LayerBits& bits) {
      example.bits = bits;
      const ReferenceResult result = reference_pass(spec, params, example, estimator);
      const double probability = std::exp(log_p_of(result));
      for (std::size_t e = 0; e < params.size(); ++e) {
        mean[e] += probability * result.gradient[e];
        square[e] += probability * result.gradient[e] * result.gradient[e];
      }
    });
    for (std::size_t e = 0; e < params.size(); ++e) {
      moments.mean[e] += mean[e];
      moments.variance[e] += square[e] - mean[e] * mean[e];
    }
  }
  return moments;
}

}  // namespace sfnn
