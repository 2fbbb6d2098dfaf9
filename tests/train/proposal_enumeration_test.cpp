// Statements about a learned proposal, checked by summing over all that its particles can draw.
#include <gtest/gtest.h>

#include <cmath>

#include "host/train/proposal.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/enumerate.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/proposal_reference.hpp"
#include "tests/support/random.hpp"

namespace sfnn {
namespace {

constexpr double kExact = 1e-11;
// Central differences: step^2 times a third derivative, and rounding over the step.
constexpr double kStep = 1e-5, kDifference = 1e-8;

struct Mixture {
  std::int64_t M, from_P;
};
constexpr Mixture kMixtures[] = {{1, 0}, {1, 1}, {2, 0}, {2, 1}, {2, 2},
                                 {3, 0}, {3, 1}, {3, 2}, {3, 3}};

struct Case {
  NetworkSpec P;
  std::vector<LayerSpec> hidden_of_R;
};

// Two layers, hybrid (C), noise (D), empty x; R linear and with a hidden layer.
std::vector<Case> cases() {
  return {
      {network(2, {"3s"}, 2, Output::bernoulli), {}},
      {network(1, {"2s", "1s"}, 2, Output::gaussian), {parse_layer("2d")}},
      {network(2, {"1s+2d", "1s+1d"}, 3, Output::softmax), {}},
      {network(1, {"1n+2d", "2s"}, 2, Output::bernoulli), {}},
      {network(2, {"1n+2d", "1n+2d"}, 2, Output::bernoulli), {parse_layer("2d")}},
      {network(0, {"1s", "2s"}, 2, Output::softmax), {}},
  };
}

ProposalNetworks networks_of(const Case& c, std::uint64_t seed) {
  const NetworkSpec R = proposal_network(c.P, c.hidden_of_R);
  return {c.P, R, random_params(c.P, seed), random_params(R, seed + 1)};
}

std::string name(const Case& c, const Mixture& m) {
  return to_string(c.P) + ", M = " + std::to_string(m.M) + ", " + std::to_string(m.from_P) +
         " of P";
}

// Calls use(probability, result) for everything that the particles of example n can draw.
template <class Use>
void for_each_draw(const ProposalNetworks& nets, const ReferenceBatch& batch, std::int64_t n,
                   const ProposalCase& c, const Use& use) {
  ReferenceBatch example = single_example(nets.P, batch, n);
  for_each_assignment(nets.P, batch.M, [&](const LayerBits& bits) {
    example.bits = bits;
    const ProposalResult result = reference_proposal(nets, example, c);
    double log_p = 0;
    for (const double drawn : result.log_drawn) log_p += drawn;
    use(std::exp(log_p), result);
  });
}

double E_C_hat(const ProposalNetworks& nets, const ReferenceBatch& batch, const ProposalCase& c) {
  double sum = 0;
  for (std::int64_t n = 0; n < batch.N; ++n)
    for_each_draw(nets, batch, n, c,
                  [&](double p, const ProposalResult& result) { sum += p * result.C_hat[0]; });
  return sum;
}

struct Means {
  Vector P, R;
};
Means mean_gradients(const ProposalNetworks& nets, const ReferenceBatch& batch,
                     const ProposalCase& c) {
  Means means{Vector(nets.params_P.size(), 0.0), Vector(nets.params_R.size(), 0.0)};
  for (std::int64_t n = 0; n < batch.N; ++n) {
    for_each_draw(nets, batch, n, c, [&](double p, const ProposalResult& result) {
      for (std::size_t i = 0; i < means.P.size(); ++i) means.P[i] += p * result.gradient_P[i];
      for (std::size_t i = 0; i < means.R.size(); ++i) means.R[i] += p * result.gradient_R[i];
    });
  }
  return means;
}

// The derivative of f by every parameter; gaps stay zero.
template <class F>
Vector derivative(const NetworkSpec& spec, Vector& params, const F& f) {
  Vector result(params.size(), 0.0);
  for (const ParamSlot& slot : ParamLayout(spec).slots()) {
    for (std::int64_t e = slot.offset; e < slot.offset + slot.size(); ++e) {
      const double before = params[e];
      params[e] = before + kStep;
      const double up = f();
      params[e] = before - kStep;
      result[e] = (up - f()) / (2 * kStep);
      params[e] = before;
    }
  }
  return result;
}

double log_likelihood(const ProposalNetworks& nets, const ReferenceBatch& batch) {
  double sum = 0;
  for (std::int64_t n = 0; n < batch.N; ++n)
    sum += exact_log_likelihood(enumerate_particle(nets.P, nets.params_P, batch, n));
  return sum;
}

// Every mixture gives an unbiased estimate of P(y|x).
TEST(ProposalEnumeration, MeanWeightIsTheLikelihood) {
  for (const Case& c : cases()) {
    const ProposalNetworks nets = networks_of(c, 1);
    for (const Mixture& m : kMixtures) {
      const ReferenceBatch batch = random_batch(c.P, /*N=*/2, m.M, /*seed=*/3);
      for (std::int64_t n = 0; n < batch.N; ++n) {
        double mean = 0, total = 0;
        for_each_draw(nets, batch, n, {.from_P = m.from_P},
                      [&](double p, const ProposalResult& result) {
                        total += p;
                        mean += p * std::exp(result.C_hat[0]);
                      });
        EXPECT_NEAR(total, 1, kExact);
        EXPECT_NEAR(std::log(mean),
                    exact_log_likelihood(enumerate_particle(c.P, nets.params_P, batch, n)), kExact)
            << name(c, m);
      }
    }
  }
}

// `bound` is the derivative of E[C_hat_M] for both networks, P's part through R's logits included.
TEST(ProposalEnumeration, BoundIsTheDerivativeOfTheExpectedCriterion) {
  for (const Case& c : cases()) {
    ProposalNetworks nets = networks_of(c, 5);
    for (const Mixture& m : kMixtures) {
      const ReferenceBatch batch = random_batch(c.P, m.M == 3 ? 1 : 2, m.M, /*seed=*/7);
      const ProposalCase rule{.rule = ProposalRule::bound, .from_P = m.from_P};
      const auto value = [&] { return E_C_hat(nets, batch, rule); };
      const Means means = mean_gradients(nets, batch, rule);
      expect_close(means.P, derivative(nets.P, nets.params_P, value), kDifference,
                   "P of " + name(c, m));
      expect_close(means.R, derivative(nets.R, nets.params_R, value), kDifference,
                   "R of " + name(c, m));
    }
  }
}

double largest_difference(const Vector& a, const Vector& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

// A constant times a score has mean zero under the distribution that the particle comes from: for P
// it may be taken off P's particles, for R off R's, and off no others.
TEST(ProposalEnumeration, ConstantsComeOffTheParticlesOfTheirOwnNetworkOnly) {
  for (const Case& c : cases()) {
    const ProposalNetworks nets = networks_of(c, 9);
    for (const Mixture& m : {Mixture{2, 0}, Mixture{2, 1}, Mixture{3, 2}}) {
      const ReferenceBatch batch = random_batch(c.P, m.M == 3 ? 1 : 2, m.M, /*seed=*/11);
      const Means none = mean_gradients(nets, batch, {.from_P = m.from_P});
      const Means right =
          mean_gradients(nets, batch, {.from_P = m.from_P, .c_P_off_P = 0.5, .c_R_off_R = 0.5});
      const Means wrong =
          mean_gradients(nets, batch, {.from_P = m.from_P, .c_P_off_R = 0.5, .c_R_off_P = 0.5});
      expect_close(right.P, none.P, kExact, "P of " + name(c, m));
      expect_close(right.R, none.R, kExact, "R of " + name(c, m));
      EXPECT_EQ(largest_difference(wrong.P, none.P) > 1e-3, c.P.trains_s()) << name(c, m);
      EXPECT_EQ(largest_difference(wrong.R, none.R) > 1e-3, m.from_P > 0) << name(c, m);
    }
  }
}

// Two layers of one unit: R can be the exact posterior. All weights are then P(y|x), and the
// gradient of rws that of log P(y|x), whatever is drawn.
TEST(ProposalEnumeration, ThePosteriorGivesEqualWeightsAndTheExactGradient) {
  for (const Output output : {Output::bernoulli, Output::gaussian}) {
    const Case c{network(2, {"1s", "1s"}, 2, output), {}};
    ProposalNetworks nets = networks_of(c, 13);
    const ReferenceBatch batch = random_batch(c.P, /*N=*/1, /*M=*/2, /*seed=*/15);
    double joint[2][2];  // [h1][h2]: log P(h, y|x); then log P(y|h) of h2, log P(y|h1)
    Vector of_h2(2), of_h1(2);
    ReferenceBatch one = single_example(c.P, batch, 0);
    one.M = 1;
    for (int h1 : {0, 1}) {
      Vector given_h1;
      for (int h2 : {0, 1}) {
        one.bits = {{std::uint8_t(h1)}, {std::uint8_t(h2)}};
        const ReferenceParticle particle =
            reference_forward(c.P, nets.params_P, one.x, one.y,
                              [&](std::int64_t l, std::int64_t, double) { return l ? h2 : h1; });
        const double a = particle.layers[1].a[0];
        of_h2[h2] = particle.log_w;
        joint[h1][h2] = particle.log_w + (h2 ? a : 0) - std::log1p(std::exp(a));
        given_h1.push_back(joint[h1][h2]);
      }
      of_h1[h1] = log_sum_exp(given_h1);
    }
    nets.params_R.assign(nets.params_R.size(), 0.0);
    const ParamLayout layout(nets.R);
    nets.params_R[layout.c.offset] = of_h1[1] - of_h1[0];
    nets.params_R[layout.c.offset + 1] = of_h2[1] - of_h2[0];
    const double C = log_likelihood(nets, batch);
    const Vector exact =
        derivative(nets.P, nets.params_P, [&] { return log_likelihood(nets, batch); });
    for_each_draw(nets, batch, 0, {}, [&](double, const ProposalResult& result) {
      for (const double log_w : result.log_w) EXPECT_NEAR(log_w, C, kExact);
    });
    expect_close(mean_gradients(nets, batch, {}).P, exact, kDifference, "P");
  }
}

// Reweighted wake-sleep for R follows -grad KL(posterior || R), and its bias falls with M.
TEST(ProposalEnumeration, RwsOfRApproachesThePosterior) {
  const Case c{network(2, {"2s"}, 2, Output::bernoulli), {}};
  ProposalNetworks nets = networks_of(c, 17);
  ReferenceBatch batch = random_batch(c.P, /*N=*/1, /*M=*/1, /*seed=*/19);
  const auto minus_KL = [&] {  // without the posterior's entropy, which R cannot change
    double sum = 0;
    const double C = log_likelihood(nets, batch);
    ReferenceBatch one = single_example(c.P, batch, 0);
    for_each_assignment(c.P, 1, [&](const LayerBits& bits) {
      one.bits = bits;
      const ProposalResult of_R = reference_proposal(nets, one, {});
      const double log_joint = of_R.log_w[0] + of_R.log_drawn[0];  // log P(y|h) P(h|x)
      sum += std::exp(log_joint - C) * of_R.log_drawn[0];
    });
    return sum;
  };
  const Vector exact = derivative(nets.R, nets.params_R, minus_KL);
  double before = INFINITY;
  for (const std::int64_t M : {2, 4, 8}) {
    batch.M = M;
    const double bias = largest_difference(mean_gradients(nets, batch, {}).R, exact);
    EXPECT_LT(bias, 0.7 * before);
    before = bias;
  }
  EXPECT_LT(before, 0.5 * largest_difference(exact, Vector(exact.size(), 0.0)));
}

// All particles from P: the estimators without R.
TEST(ProposalEnumeration, AllParticlesOfPIsAsWithoutR) {
  for (const Case& c : cases()) {
    const ProposalNetworks nets = networks_of(c, 21);
    const ReferenceBatch batch = random_batch(c.P, /*N=*/3, /*M=*/3, /*seed=*/23);
    const ProposalResult mixed =
        reference_proposal(nets, batch, {.from_P = 3, .c_P_off_P = 1.0 / 3});
    const ReferenceResult alone = reference_pass(c.P, nets.params_P, batch, {.id = Estimator::G5});
    expect_close(mixed.log_w, alone.log_w, kExact, "log_w");
    expect_close(mixed.gradient_P, alone.gradient, kExact, "G5");
  }
}

}  // namespace
}  // namespace sfnn
