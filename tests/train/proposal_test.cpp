// A pass with particles of R on every backend, against the reference and against a pass without R.
#include "host/train/proposal.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "host/base/error.hpp"
#include "host/train/train_options.hpp"
#include "kernels/philox.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/proposal_reference.hpp"
#include "tests/support/random.hpp"

namespace sfnn {
namespace {

struct Case {
  NetworkSpec P;
  std::vector<LayerSpec> hidden_of_R;
  std::int64_t N, M, from_P;
};

// More units than a vector, a word or a warp has; every kind of layer and output; empty x.
std::vector<Case> cases() {
  return {
      {network(5, {"70s"}, 3, Output::bernoulli), {}, 4, 3, 0},
      {network(5, {"35s", "9s"}, 4, Output::gaussian), {parse_layer("6d")}, 3, 5, 2},
      {network(4, {"3s+5d", "4s+3d"}, 3, Output::softmax), {}, 3, 4, 1},
      {network(4, {"5n+6d", "33s"}, 3, Output::bernoulli), {parse_layer("40d")}, 3, 4, 0},
      {network(4, {"300n+6d", "7n+5d"}, 3, Output::bernoulli), {}, 2, 3, 1},
      {network(0, {"9s", "6d", "8s"}, 4, Output::softmax), {}, 3, 3, 3},
      {network(3, {"4s"}, 2, Output::bernoulli), {}, 2, 1, 0},
  };
}

ProposalNetworks networks_of(const Case& c, std::uint64_t seed) {
  const NetworkSpec R = proposal_network(c.P, c.hidden_of_R);
  const double scale = 1 / std::sqrt(1.0 + gradient_terms(c.P, {}) / 8);
  return {c.P, R, random_params(c.P, seed, scale), random_params(R, seed + 1, 0.5)};
}

TEST(MixtureWeights, AreThoseOfTheirFormulaHoweverFarPAndRAreApart) {
  for (const float delta : {-200.0f, -30.0f, -1.0f, 0.0f, 1.0f, 30.0f, 200.0f}) {
    EXPECT_EQ(log_weight_of_ratio(delta, 1.0f), 0) << "all particles are P's";
    EXPECT_EQ(log_weight_of_ratio(delta, 0.0f), delta);
    for (const double share : {0.25, 0.5, 0.75}) {
      const double exact = -std::log(share + (1 - share) * std::exp(-double(delta)));
      EXPECT_NEAR(log_weight_of_ratio(delta, float(share)), exact, 1e-6 * (1 + std::abs(exact)));
    }
  }
}

class Proposal : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Backend> backend_ = make_test_backend(GetParam());
};

double scale_of(const Vector& values) {
  double scale = 1;
  for (const double value : values) scale = std::max(scale, std::abs(value));
  return scale;
}

TEST_P(Proposal, FollowsTheReference) {
  for (const Case& c : cases()) {
    const ProposalNetworks nets = networks_of(c, 1);
    const ReferenceBatch batch = random_batch(c.P, c.N, c.M, /*seed=*/3);
    for (const auto& [rule, name] : kProposalRules) {
      if (rule == ProposalRule::bound && c.M == 1) continue;  // refused
      const double c_off = 0.3;
      const ProposalResult expected = reference_proposal(
          nets, batch,
          {.rule = rule, .from_P = c.from_P, .c_P_off_P = c_off, .c_R_off_R = 1.0 / double(c.M)});
      for (const std::int64_t tile : {0, 2}) {
        SCOPED_TRACE(to_string(c.P) + ", " + std::string(name) + ", tile " + std::to_string(tile));
        const EngineProposal actual = run_proposal(
            *backend_, nets, batch, {.pass = pass_of(rule, c.from_P, c_off), .tile = tile});
        const double terms = gradient_terms(c.P, batch);
        const double weights = float_tolerance(terms, 4 * scale_of(expected.log_w));
        expect_close(actual.log_w, expected.log_w, weights, "log_w");
        expect_close(actual.w_bar, expected.w_bar, weights, "w_bar");
        expect_close(actual.C_hat, expected.C_hat, weights, "C_hat");
        const double gradients = 1e-3;  // of the largest: N * M scores times the error of w_bar
        expect_close(actual.gradient_P, expected.gradient_P,
                     gradients * scale_of(expected.gradient_P), "gradient of P");
        expect_close(actual.gradient_R, expected.gradient_R,
                     gradients * scale_of(expected.gradient_R), "gradient of R");
      }
    }
  }
}

// The first particles are drawn from P, the others from R, at P's own sites.
TEST_P(Proposal, DrawsFromBoth) {
  for (const Case& c : cases()) {
    const ProposalNetworks nets = networks_of(c, 5);
    ReferenceBatch batch = random_batch(c.P, c.N, c.M, /*seed=*/7);
    PassOptions options = pass_of(ProposalRule::rws, c.from_P, 0);
    options.seed = 9;
    batch.bits = run_proposal(*backend_, nets, batch, {.pass = options, .draw = true}).bits;
    for (std::int64_t n = 0; n < c.N; ++n) {
      const Vector e = reference_shifts(nets, batch, n);
      for (std::int64_t m = 0; m < c.M; ++m) {
        std::size_t first = 0;
        const std::int64_t r = n * c.M + m;
        reference_forward(
            c.P, nets.params_P,
            Vector(batch.x.begin() + n * c.P.D_in, batch.x.begin() + (n + 1) * c.P.D_in),
            Vector(c.P.D_out, 0.0), [&](std::int64_t l, std::int64_t i, double p) {
              const double shift = m < c.from_P ? 0.0 : e[first + std::size_t(i)];
              const double logit = std::log(p / (1 - p)) + shift;
              const double drawn =
                  uniform({9, /*step=*/3, std::uint32_t(l)}, std::uint32_t(n), std::uint32_t(m), i);
              const double q = 1 / (1 + std::exp(-logit));
              const bool h = batch.bits[l][r * c.P.hidden[l].n_s + i];
              if (std::abs(drawn - q) > 1e-5) {
                EXPECT_EQ(h, drawn <= q) << to_string(c.P) << ", layer " << l << ", unit " << i;
              }
              if (i + 1 == c.P.hidden[l].n_s) first += std::size_t(i + 1);
              return double(h);
            });
      }
    }
  }
}

// R as it begins is P: every bit of a pass without R, with G4 in the estimator's place.
TEST_P(Proposal, RBeginsAsP) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(to_string(c.P));
    ProposalNetworks nets = networks_of(c, 11);
    const std::vector<float> fresh = initial_proposal(nets.R, /*seed=*/1, /*scale=*/1);
    nets.params_R.assign(fresh.begin(), fresh.end());
    const ReferenceBatch batch = random_batch(c.P, c.N, c.M, /*seed=*/13);
    PassOptions options = pass_of(ProposalRule::rws, c.from_P, 0);
    options.seed = 15;
    const EngineProposal with =
        run_proposal(*backend_, nets, batch, {.pass = options, .draw = true});
    options.estimator = row_of(Estimator::G4);
    options.proposal = {};
    const EngineProposal without =
        run_proposal(*backend_, nets, batch, {.pass = options, .draw = true, .without_R = true});
    EXPECT_EQ(with.bits, without.bits);
    EXPECT_EQ(with.log_w, without.log_w);
    EXPECT_EQ(with.w_bar, without.w_bar);
    EXPECT_EQ(with.C_hat, without.C_hat);
    EXPECT_EQ(with.gradient_P, without.gradient_P);
  }
}

// P follows w_bar, so that particles of no weight can be dropped; R needs them all.
TEST_P(Proposal, DroppedParticlesHardlyMatterToPAndNotAtAllToR) {
  const Case c{network(5, {"35s", "9s"}, 30, Output::bernoulli), {}, 4, 12, 0};
  const ProposalNetworks nets = networks_of(c, 17);
  const ReferenceBatch batch = random_batch(c.P, c.N, c.M, /*seed=*/19);
  EngineProposalOptions options{.pass = pass_of(ProposalRule::rws, 0, 0)};
  const EngineProposal all = run_proposal(*backend_, nets, batch, options);
  options.pass.drop_below = 0.01f;
  const EngineProposal some = run_proposal(*backend_, nets, batch, options);
  const auto dropped = std::ranges::count_if(all.w_bar, [](float w) { return w < 0.01f; });
  ASSERT_GT(dropped, 0);
  EXPECT_EQ(some.gradient_R, all.gradient_R);
  EXPECT_NE(some.gradient_P, all.gradient_P);
  expect_close(some.gradient_P, Vector(all.gradient_P.begin(), all.gradient_P.end()),
               0.01 * double(dropped), "gradient of P");
}

TEST_P(Proposal, APassMustExpectIt) {
  const Case c = cases()[0];
  const ProposalNetworks nets = networks_of(c, 21);
  const ReferenceBatch batch = random_batch(c.P, c.N, c.M, /*seed=*/23);
  EXPECT_THROW(run_proposal(*backend_, nets, batch, {.pass = {}}), ShapeError);
}

INSTANTIATE_TEST_SUITE_P(Backends, Proposal, backends_under_test());

}  // namespace
}  // namespace sfnn
