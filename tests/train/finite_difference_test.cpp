// The reference's gradients are derivatives: each is compared with central differences of the
// objective it claims to be the derivative of.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "tests/support/compare.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference.hpp"

namespace sfnn {
namespace {

using Objective = std::function<double(const Vector& params)>;

// Error of the difference: step^2 from the third derivative, epsilon / step from rounding; both are
// near 1e-10 of the objective's size here.
constexpr double kStep = 1e-5;
constexpr double kTolerance = 2e-8;

Vector central_differences(const Objective& J, const Vector& params, const ParamSlot& slot) {
  Vector derivative;
  for (std::int64_t e = slot.offset; e < slot.offset + slot.size(); ++e) {
    Vector up = params, down = params;
    up[e] += kStep;
    down[e] -= kStep;
    derivative.push_back((J(up) - J(down)) / (2 * kStep));
  }
  return derivative;
}

void expect_derivative(const NetworkSpec& spec, const Vector& params, const Vector& gradient,
                       const Objective& J, const std::vector<ParamSlot>& slots) {
  for (const ParamSlot& slot : slots) {
    const Vector actual(gradient.begin() + slot.offset,
                        gradient.begin() + slot.offset + slot.size());
    expect_close(actual, central_differences(J, params, slot),
                 kTolerance * (1 + std::abs(J(params))),
                 to_string(spec) + ": G(" + slot.name + ")");
  }
}

double sum(const Vector& v) {
  double total = 0;
  for (double e : v) total += e;
  return total;
}

// C_hat of the whole batch with what was drawn held.
Objective C_hat_sum(const NetworkSpec& spec, const ReferenceBatch& batch) {
  return [=](const Vector& params) { return sum(reference_pass(spec, params, batch).C_hat); };
}

class EveryOutput : public testing::TestWithParam<Output> {};

INSTANTIATE_TEST_SUITE_P(FiniteDifference, EveryOutput, every_output(), output_name);

// The mean of log P(y|h) over the particles, with what was drawn held: E[C_hat_1].
Objective mean_log_w(const NetworkSpec& spec, const ReferenceBatch& batch) {
  return [=](const Vector& params) {
    return sum(reference_pass(spec, params, batch).log_w) / double(batch.M);
  };
}

// Eq. (15), (16): every estimator trains P(y|h) in the same way, but for one that weighs all
// particles equally.
TEST_P(EveryOutput, OutputWeightsWithBitsHeld) {
  for (const EstimatorRow& estimator : kEstimators) {
    const NetworkSpec spec = network(3, {"4s", "3s"}, 4, GetParam());
    const Vector params = random_params(spec, /*seed=*/1);
    const ReferenceBatch batch = random_batch(spec, /*N=*/3, /*M=*/4, /*seed=*/2);
    const ParamLayout layout(spec);
    expect_derivative(
        spec, params, reference_pass(spec, params, batch, {.id = estimator.id}).gradient,
        follows_w_bar(estimator.output_weight) ? C_hat_sum(spec, batch) : mean_log_w(spec, batch),
        {layout.V, layout.c, layout.rho});
  }
}

// Eq. (20)-(22): with the noise eps frozen in all layers h is a smooth function of a, and G3 its
// exact derivative.
TEST_P(EveryOutput, G3WithNoiseFrozenInEveryLayer) {
  for (const NetworkSpec& spec :
       {network(3, {"4s"}, 3, GetParam()), network(2, {"3s", "4s", "2s"}, 3, GetParam()),
        network(3, {"2s+3d", "3s", "2d"}, 2, GetParam()),
        network(0, {"3s", "2s"}, 2, GetParam())}) {
    const Vector params = random_params(spec, /*seed=*/3);
    ReferenceBatch batch = random_batch(spec, /*N=*/2, /*M=*/3, /*seed=*/4);
    const ReferenceResult drawn = reference_pass(spec, params, batch);
    for (std::int64_t l = 0; l < spec.depth(); ++l) {
      batch.eps.emplace_back();
      for (const ReferenceParticle& particle : drawn.particles)
        for (double score : particle.layers[l].score) batch.eps[l].push_back(score);
    }
    const ReferenceResult frozen = reference_pass(spec, params, batch, {.id = Estimator::G3});
    expect_close(frozen.C_hat, drawn.C_hat, 1e-12, "C_hat where sigma(a) + eps is the bit again");
    expect_derivative(spec, params, frozen.gradient, C_hat_sum(spec, batch),
                      ParamLayout(spec).slots());
  }
}

// The same of every deterministic unit, alone and above sampled ones. No rectified unit of these
// seeds is near its kink.
TEST_P(EveryOutput, EveryDeterministicUnit) {
  for (const ActivationRow& row : kActivations) {
    const std::string unit(row.suffix);
    for (const std::vector<std::string>& layers : {std::vector{"4" + unit, "3" + unit},
                                                   {"2n+3" + unit, "3n+2" + unit},
                                                   {"3d", "4" + unit}}) {
      NetworkSpec spec = network(3, {}, 3, GetParam());
      for (const std::string& layer : layers) spec.hidden.push_back(parse_layer(layer));
      const Vector params = random_params(spec, /*seed=*/3);
      const ReferenceBatch batch = random_batch(spec, /*N=*/2, spec.samples() ? 3 : 1, /*seed=*/4);
      expect_derivative(spec, params, reference_pass(spec, params, batch).gradient,
                        C_hat_sum(spec, batch), ParamLayout(spec).slots());
    }
  }
}

// Networks A and D: nothing random is trained, so the gradient is C_hat's own, whatever the
// estimator.
TEST_P(EveryOutput, NetworksAAndD) {
  for (const NetworkSpec& spec :
       {network(3, {"4d", "3d"}, 3, GetParam()), network(3, {"2n+3d", "3n+2d"}, 3, GetParam()),
        network(2, {"2n", "3d"}, 2, GetParam()), network(2, {}, 3, GetParam()),
        network(0, {"3n+3d"}, 2, GetParam())}) {
    const Vector params = random_params(spec, /*seed=*/5);
    for (std::int64_t M : {1, 3}) {
      const ReferenceBatch batch = random_batch(spec, /*N=*/3, M, /*seed=*/6);
      for (Estimator id : {Estimator::G1, Estimator::G3, Estimator::G4}) {
        expect_derivative(spec, params, reference_pass(spec, params, batch, {.id = id}).gradient,
                          C_hat_sum(spec, batch), ParamLayout(spec).slots());
      }
    }
  }
}

// J = C_hat(theta; s held) + sum over rows and units of weight * log P(s_i | what lies below), the
// weights held at the point where the gradient is asked for.
using UnitWeight = std::function<double(std::int64_t row, std::int64_t layer, std::int64_t unit)>;

double score_objective(const NetworkSpec& spec, const Vector& params, const ReferenceBatch& batch,
                       const UnitWeight& weight) {
  const ReferenceResult result = reference_pass(spec, params, batch);
  double J = sum(result.C_hat);
  for (std::int64_t r = 0; r < batch.N * batch.M; ++r) {
    for (std::int64_t l = 0; l < spec.depth(); ++l) {
      const ReferenceLayer& layer = result.particles[r].layers[l];
      for (std::int64_t i = 0; i < spec.hidden[l].n_s; ++i)
        J += weight(r, l, i) * std::log(layer.s[i] == 1 ? layer.p[i] : 1 - layer.p[i]);
    }
  }
  return J;
}

// Network C, and every other stack of sampled and deterministic layers. In C's first layer the
// deterministic weights get gradient from C_hat and from log P(s) of the layers above.
TEST_P(EveryOutput, ScoreEstimatorsOfNetworkCWithWeightsHeld) {
  for (const NetworkSpec& spec :
       {network(3, {"2s+3d", "3s+2d"}, 3, GetParam()), network(3, {"3d", "2s"}, 3, GetParam()),
        network(2, {"2s", "3d", "2s", "2s+2d"}, 2, GetParam()),
        network(0, {"2s+2d"}, 2, GetParam()), network(2, {"3s", "2s"}, 2, GetParam()),
        network(2, {"2n+2d", "2s+2d"}, 2, GetParam())}) {
    const Vector params = random_params(spec, /*seed=*/7);
    const ReferenceBatch batch = random_batch(spec, /*N=*/2, /*M=*/3, /*seed=*/8);
    const ReferenceResult held = reference_pass(spec, params, batch);
    std::vector<Vector> L_bar;
    for (const LayerSpec& layer : spec.hidden) {
      L_bar.emplace_back();
      for (std::int64_t i = 0; i < layer.n_s; ++i) L_bar.back().push_back(-1.5 + 0.25 * double(i));
    }
    const double c = 0.2;

    const UnitWeight G1 = [&](auto r, auto l, auto i) {
      return held.C_hat[r / batch.M] - L_bar[l][i];
    };
    const UnitWeight G4 = [&](auto r, auto, auto) { return held.w_bar[r]; };
    const UnitWeight G5 = [&](auto r, auto, auto) { return held.w_bar[r] - c; };
    const UnitWeight G5_default = [&](auto r, auto, auto) { return held.w_bar[r] - 1.0 / 3; };
    const std::pair<ReferenceEstimator, UnitWeight> cases[] = {
        {{Estimator::G1, {}, L_bar}, G1},
        {{Estimator::G4, {}, {}}, G4},
        {{Estimator::G5, c, {}}, G5},
        {{Estimator::G5, {}, {}}, G5_default},
    };
    for (const auto& [estimator, weight] : cases) {
      const Objective J = [&](const Vector& theta) {
        return score_objective(spec, theta, batch, weight);
      };
      expect_derivative(spec, params, reference_pass(spec, params, batch, estimator).gradient, J,
                        ParamLayout(spec).slots());
    }
  }
}

// Eq. (19): G2 is G3 with sigma'(a) replaced by one. Of one hidden layer, therefore, G2 is G(h).
TEST_P(EveryOutput, G2IsTheDerivativeByH) {
  const NetworkSpec spec = network(3, {"4s"}, 3, GetParam());
  const Vector params = random_params(spec, /*seed=*/9);
  const ReferenceBatch batch = random_batch(spec, /*N=*/1, /*M=*/3, /*seed=*/10);
  const ReferenceResult result = reference_pass(spec, params, batch, {.id = Estimator::G2});
  const ParamSlot b_s = ParamLayout(spec).hidden[0].b_s;
  for (std::int64_t i = 0; i < 4; ++i) {
    // b_s belongs to unit i of every particle; moving eps moves h itself, past sigma.
    const auto C_hat = [&](double shift) {
      ReferenceBatch shifted = batch;
      shifted.eps.emplace_back();
      for (const ReferenceParticle& particle : result.particles)
        for (std::int64_t k = 0; k < 4; ++k)
          shifted.eps[0].push_back(particle.layers[0].score[k] + (k == i ? shift : 0));
      return reference_pass(spec, params, shifted).C_hat[0];
    };
    EXPECT_NEAR(result.gradient[b_s.offset + i], (C_hat(kStep) - C_hat(-kStep)) / (2 * kStep),
                kTolerance);
  }
}

// The gradient's magnitude bounds the gradient, and equals it if nothing cancels.
TEST(FiniteDifference, MagnitudesBoundTheGradient) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const NetworkSpec spec = random_network(seed);
    const Vector params = random_params(spec, seed);
    const ReferenceBatch batch = random_batch(spec, /*N=*/3, /*M=*/2, seed);
    for (Estimator id : {Estimator::G1, Estimator::G3, Estimator::G5}) {
      const ReferenceResult result = reference_pass(spec, params, batch, {.id = id});
      for (std::size_t e = 0; e < params.size(); ++e)
        EXPECT_LE(std::abs(result.gradient[e]), result.gradient_magnitude[e] * (1 + 1e-12));
    }
  }
}

}  // namespace
}  // namespace sfnn
