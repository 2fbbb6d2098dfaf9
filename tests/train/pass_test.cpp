// The engine's pass, on each backend, against the double reference with the same hidden units.
#include "host/train/pass.hpp"

#include <gtest/gtest.h>

#include "host/base/error.hpp"
#include "host/devices/registry.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/random.hpp"
#include "tests/support/run_pass.hpp"

namespace sfnn {
namespace {

class PassTest : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Backend> backend_ = make_test_backend(GetParam());

  // Every estimator with every quantity that a pass computes.
  void expect_agreement(const NetworkSpec& spec, const ReferenceBatch& batch, std::uint64_t seed,
                        std::int64_t tile = 0) {
    SCOPED_TRACE(to_string(spec) + " N=" + std::to_string(batch.N) +
                 " M=" + std::to_string(batch.M));
    // Not so large that units saturate: sigma' = p (1 - p) has an absolute, not a relative,
    // precision there.
    const Vector params =
        random_params(spec, seed, 1 / std::sqrt(1.0 + gradient_terms(spec, {}) / 8));
    for (const EstimatorRow& estimator : kEstimators) {
      SCOPED_TRACE(estimator.name);
      ReferenceEstimator asked{.id = estimator.id, .c = 0.3 / double(batch.M), .T = 0.75};
      Random random(seed + 1);
      for (const LayerSpec& layer : spec.hidden) {
        asked.L_bar.emplace_back();
        for (std::int64_t i = 0; i < layer.n_s; ++i)
          asked.L_bar.back().push_back(double(float(random.normal())));
      }
      const ReferenceResult expected = reference_pass(spec, params, batch, asked);
      const EnginePass actual =
          run_pass(*backend_, spec, params, batch,
                   {.pass = {.estimator = estimator, .c = float(*asked.c), .T = float(asked.T)},
                    .L_bar = asked.L_bar,
                    .tile = tile});
      const double terms = gradient_terms(spec, batch);
      double log_w_scale = 1;
      for (double value : expected.log_w) log_w_scale = std::max(log_w_scale, std::abs(value));
      expect_close(actual.log_w, expected.log_w, float_tolerance(terms, log_w_scale), "log_w");
      expect_close(actual.w_bar, expected.w_bar, float_tolerance(terms, log_w_scale), "w_bar");
      expect_close(actual.C_hat, expected.C_hat, float_tolerance(terms, log_w_scale), "C_hat");
      // w_bar's relative error is log_w's absolute one, and every gradient is proportional to it.
      ReferenceResult scaled = expected;
      for (double& magnitude : scaled.gradient_magnitude) magnitude *= log_w_scale;
      expect_gradient_close(actual.gradient, spec, batch, scaled);
      if (estimator.has_moving_state())
        expect_baseline_close(spec, expected, actual, terms, log_w_scale);
    }
  }

  static void expect_baseline_close(const NetworkSpec& spec, const ReferenceResult& expected,
                                    const EnginePass& actual, double terms, double scale) {
    Vector sums;
    for (std::int64_t l = 0; l < spec.depth(); ++l) {
      if (!spec.hidden[l].trains_s()) continue;
      sums.insert(sums.end(), expected.score2[l].begin(), expected.score2[l].end());
      sums.insert(sums.end(), expected.score2_C_hat[l].begin(), expected.score2_C_hat[l].end());
    }
    double largest = 1;
    for (double value : sums) largest = std::max(largest, std::abs(value));
    expect_close(actual.score2_sums, sums, float_tolerance(terms, largest * scale),
                 "baseline sums");
  }
};

// All rows of both tables. The reference shares no dispatch with the engine: a row that a backend
// does not know goes red here.
TEST_P(PassTest, EveryEstimatorWithEveryOutputOnTheNetworksOfThePaper) {
  for (const OutputRow& row : kOutputs) {
    const Output output = row.id;
    const std::int64_t D = row.class_target ? 4 : 7;
    for (const NetworkSpec& spec :
         {network(5, {"6s", "4s"}, D, output), network(5, {"6d", "4d"}, D, output),
          network(5, {"3s+6d", "2s+5d"}, D, output), network(5, {"3n+6d", "2n+5d"}, D, output)}) {
      for (std::int64_t M : {1, 2, 5}) {
        if (!spec.samples() && M > 1) continue;
        expect_agreement(spec, random_batch(spec, 3, M, 7 + M), 11 + M);
      }
    }
  }
}

// Every deterministic unit of the table, alone, beside units that draw, and below and above others.
TEST_P(PassTest, EveryDeterministicUnit) {
  for (const ActivationRow& row : kActivations) {
    const std::string unit(row.suffix);
    const auto layers = [&](std::vector<std::string> hidden) {
      NetworkSpec spec = network(5, {}, 7, Output::bernoulli);
      for (const std::string& layer : hidden) spec.hidden.push_back(parse_layer(layer + unit));
      return spec;
    };
    for (const NetworkSpec& spec : {layers({"6", "4"}), layers({"3s+6", "2s+5"}),
                                    layers({"3n+6", "2n+5"}), layers({"37", "3s+20"})}) {
      const std::int64_t M = spec.samples() ? 5 : 1;
      expect_agreement(spec, random_batch(spec, 3, M, 7), 11, /*tile=*/2);
    }
  }
}

TEST_P(PassTest, AGivenSigma) {
  for (const double sigma : {0.25, 30.0}) {
    NetworkSpec spec = network(5, {"6s", "3s+4d"}, 7, Output::gaussian);
    spec.sigma = sigma;
    expect_agreement(spec, random_batch(spec, 3, 4, 7), 11);
  }
}

TEST_P(PassTest, RandomNetworks) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const NetworkSpec spec = random_network(seed, 4, 9);
    Random random(seed);
    const std::int64_t M = spec.samples() ? random.integer(1, 6) : 1;
    const std::int64_t N = random.integer(1, 5);
    expect_agreement(spec, random_batch(spec, N, M, seed), seed, random.integer(0, N));
  }
}

TEST_P(PassTest, OddAndLargerWidths) {
  for (const NetworkSpec& spec :
       {network(33, {"65s", "31s", "17s"}, 70, Output::bernoulli),
        network(1, {"1s"}, 1, Output::bernoulli), network(0, {"40s", "9s"}, 33, Output::bernoulli),
        network(20, {"130s", "64s+96d"}, 10, Output::softmax),
        network(10, {"24d", "100s", "24d"}, 12, Output::gaussian)}) {
    expect_agreement(spec, random_batch(spec, 4, 9, 3), 5);
  }
}

TEST_P(PassTest, AnEmptyTileGivesNothing) {
  const NetworkSpec spec = network(5, {"6s", "3s+4d"}, 7, Output::bernoulli);
  for (const EstimatorRow& estimator : kEstimators) {
    const EnginePass result =
        run_pass(*backend_, spec, random_params(spec, 1), random_batch(spec, 0, 3, 1),
                 {.pass = {.estimator = estimator}});
    for (float g : result.gradient) EXPECT_EQ(g, 0.0f);
  }
}

// A logit of a thousand must neither overflow nor make a gradient that is not a number.
TEST_P(PassTest, SurvivesHugeActivations) {
  for (const OutputRow& row : kOutputs) {
    SCOPED_TRACE(row.name);
    const NetworkSpec spec = network(3, {"5s", "4d"}, 6, row.id);
    ReferenceBatch batch = random_batch(spec, 2, 4, 3);
    const Vector params = random_params(spec, 3, /*scale=*/400);
    for (const EstimatorRow& estimator : kEstimators) {
      const EnginePass result =
          run_pass(*backend_, spec, params, batch, {.pass = {.estimator = estimator, .c = 0.25f}});
      for (float g : result.gradient) EXPECT_TRUE(std::isfinite(g)) << estimator.name;
      for (float C : result.C_hat) EXPECT_TRUE(std::isfinite(C));
    }
  }
}

// An element weight that is each particle's own is applied before they are summed. Among the
// particles that share a, darn's mean weight over h is G3's, so that summing first would go
// unnoticed if what arrives did not depend on h.
TEST_P(PassTest, AWeightPerParticleIsAppliedBeforeTheSum) {
  for (const NetworkSpec& spec : {network(6, {"9s", "5s"}, 7, Output::bernoulli),
                                  network(6, {"4d", "9s"}, 7, Output::gaussian),
                                  network(6, {"4s+9d", "3s+5d"}, 7, Output::softmax)}) {
    const ReferenceBatch batch = random_batch(spec, 4, 5, 3);
    const Vector params = random_params(spec, 2, 0.5);
    for (const Estimator id : {Estimator::darn, Estimator::st_gumbel}) {
      const EnginePass summed =
          run_pass(*backend_, spec, params, batch, {.pass = {.estimator = row_of(Estimator::G3)}});
      const EnginePass apart =
          run_pass(*backend_, spec, params, batch, {.pass = {.estimator = row_of(id)}, .tile = 3});
      expect_gradient_close(apart.gradient, spec, batch,
                            reference_pass(spec, params, batch, {.id = id}));
      EXPECT_NE(apart.gradient, summed.gradient);
    }
  }
}

// The uniform of a draw is found again on the way back: by its seed, step and place in the batch.
TEST_P(PassTest, GumbelsUniformIsTheOneThatDrew) {
  const NetworkSpec spec = network(6, {"300s", "5s"}, 7, Output::bernoulli);
  const Vector params = random_params(spec, 2, 0.5);
  ReferenceBatch batch = random_batch(spec, 4, 5, 3);
  batch.bits = reference_draws(spec, params, batch, /*seed=*/5, /*step=*/3);
  const ReferenceEstimator asked{.id = Estimator::st_gumbel, .T = 0.5, .seed = 5, .step = 3};
  const EnginePass actual =
      run_pass(*backend_, spec, params, batch,
               {.pass = {.seed = 5, .estimator = row_of(asked.id), .T = float(asked.T)},
                .tile = 3,
                .draw = true,
                .step = 3});
  EXPECT_EQ(actual.bits, batch.bits);
  expect_gradient_close(actual.gradient, spec, batch, reference_pass(spec, params, batch, asked));
}

TEST_P(PassTest, ABetaThatIsMissingIsRefused) {
  const NetworkSpec spec = network(6, {"9s"}, 7, Output::bernoulli);
  Pass pass(*backend_, spec, {.estimator = row_of(Estimator::G5)}, 1, 2);
  EXPECT_THROW(pass.backward(nullptr, nullptr, nullptr, nullptr), ShapeError);
}

// A draw belongs to its index: not to the tile, and more particles leave the first ones as they
// were.
TEST_P(PassTest, DrawsDependOnTheirIndexAlone) {
  const NetworkSpec spec = network(5, {"37s", "20s+8d", "9n+3d"}, 7, Output::bernoulli);
  const Vector params = random_params(spec, 1);
  const std::int64_t N = 7;
  const ReferenceBatch batch = random_batch(spec, N, 5, 2);
  EngineOptions options{.pass = {.seed = 99}, .draw = true, .step = 12};
  const EnginePass whole = run_pass(*backend_, spec, params, batch, options);
  options.tile = 3;
  EXPECT_EQ(run_pass(*backend_, spec, params, batch, options).bits, whole.bits);

  ReferenceBatch fewer = batch;
  fewer.M = 2;
  const EnginePass two = run_pass(*backend_, spec, params, fewer, options);
  for (std::int64_t l = 0; l < spec.depth(); ++l) {
    const std::int64_t n_s = spec.hidden[l].n_s;
    for (std::int64_t n = 0; n < N; ++n) {
      for (std::int64_t e = 0; e < 2 * n_s; ++e) {
        ASSERT_EQ(two.bits[l][n * 2 * n_s + e], whole.bits[l][n * 5 * n_s + e]);
      }
    }
  }
  options.step = 13;
  EXPECT_NE(run_pass(*backend_, spec, params, fewer, options).bits, two.bits);
}

// Rows of equal x: their draws are apart by default, and the same on demand, wherever a row stands.
TEST_P(PassTest, DrawsMayBeTheSameForEveryRow) {
  const NetworkSpec spec = network(5, {"36s", "20s+8d", "9n+3d"}, 7, Output::bernoulli);
  const std::int64_t N = 5, M = 3;
  ReferenceBatch batch = random_batch(spec, N, M, 2);
  for (std::int64_t n = 1; n < N; ++n)
    std::copy_n(batch.x.begin(), spec.D_in, batch.x.begin() + n * spec.D_in);
  EngineOptions options{.pass = {.seed = 3}, .tile = 2, .draw = true, .step = 4};
  const auto drawn = [&] {
    return run_pass(*backend_, spec, random_params(spec, 1), batch, options).bits;
  };
  const HiddenBits by_row = drawn();
  options.pass.same_draws = true;
  const HiddenBits same = drawn();
  for (std::int64_t l = 0; l < spec.depth(); ++l) {
    const std::int64_t size = M * spec.hidden[l].n_s;
    const auto row = [&](const HiddenBits& bits, std::int64_t n) {
      return std::vector(bits[l].begin() + n * size, bits[l].begin() + (n + 1) * size);
    };
    EXPECT_EQ(row(same, 0), row(by_row, 0)) << "every row draws what row 0 does";
    for (std::int64_t n = 1; n < N; ++n) {
      EXPECT_EQ(row(same, n), row(same, 0));
      EXPECT_NE(row(by_row, n), row(by_row, 0));
    }
  }
}

TEST_P(PassTest, DrawsAreTheReferences) {
  const NetworkSpec spec = network(5, {"37s", "20s+8d", "9n+3d"}, 7, Output::bernoulli);
  const Vector params = random_params(spec, 4);
  const ReferenceBatch batch = random_batch(spec, 6, 8, 2);
  const EnginePass drawn =
      run_pass(*backend_, spec, params, batch, {.pass = {.seed = 5}, .draw = true, .step = 3});
  // Equal but for a u that falls within rounding of sigma(a); with this seed there is none.
  EXPECT_EQ(drawn.bits, reference_draws(spec, params, batch, 5, 3));
}

// Dropping particles whose responsibility is below 1e-6 / M changes the gradient by less than
// rounding does.
TEST_P(PassTest, DroppingIdleParticlesChangesNothingThatMatters) {
  for (const NetworkSpec& spec : {network(20, {"30s", "20s"}, 60, Output::bernoulli),
                                  network(20, {"9n+30d", "9n+20d"}, 60, Output::gaussian),
                                  network(20, {"9s+30d", "9s+20d"}, 60, Output::bernoulli)}) {
    const std::int64_t M = 20;
    const ReferenceBatch batch = random_batch(spec, 8, M, 2);
    const Vector params = random_params(spec, 4, 2);
    for (const EstimatorRow& estimator : kEstimators) {
      const PassOptions full{.estimator = estimator, .c = 1.0f / M};
      PassOptions thinned = full;
      thinned.drop_below = 1e-6f / M;
      const EnginePass a = run_pass(*backend_, spec, params, batch, {.pass = full});
      const EnginePass b = run_pass(*backend_, spec, params, batch, {.pass = thinned});
      const std::int64_t idle = std::count_if(a.w_bar.begin(), a.w_bar.end(),
                                              [&](float w) { return w < thinned.drop_below; });
      ASSERT_GT(idle, 40) << "the case must have something to drop";
      for (const ParamSlot& slot : ParamLayout(spec).slots()) {
        double difference = 0, norm = 0;
        for (std::int64_t e = slot.offset; e < slot.offset + slot.size(); ++e) {
          difference += std::pow(double(a.gradient[e]) - b.gradient[e], 2);
          norm += std::pow(double(a.gradient[e]), 2);
        }
        EXPECT_LE(std::sqrt(difference), 2e-6 * std::sqrt(norm))
            << estimator.name << " " << slot.name;
      }
    }
  }
}

// With a threshold that most particles stay below it shows which gradients are thinned: all that
// are proportional to w_bar; of G1, G5 and vimco the output's alone, of vimco without c all.
TEST_P(PassTest, DropsParticlesWhereTheyCount) {
  const NetworkSpec spec = network(20, {"30s", "20s"}, 60, Output::bernoulli);
  const std::int64_t M = 20;
  const ReferenceBatch batch = random_batch(spec, 8, M, 2);
  const Vector params = random_params(spec, 4, 0.3);
  std::vector<EstimatorRow> rows(kEstimators.begin(), kEstimators.end());
  rows.push_back(with_c(row_of(Estimator::vimco), 0));
  for (const EstimatorRow& estimator : rows) {
    SCOPED_TRACE(estimator.name);
    const auto gradient = [&](float drop_below) {
      return run_pass(*backend_, spec, params, batch,
                      {.pass = {.estimator = estimator, .c = 1.0f / M, .drop_below = drop_below}})
          .gradient;
    };
    const std::vector<float> full = gradient(0), thinned = gradient(0.2f);
    const ParamLayout layout(spec);
    const auto changes = [&](const ParamSlot& slot) {
      double difference = 0, norm = 0;
      for (std::int64_t e = slot.offset; e < slot.offset + slot.size(); ++e) {
        difference += std::pow(double(full[e]) - thinned[e], 2);
        norm += std::pow(double(full[e]), 2);
      }
      return difference > 1e-4 * norm;
    };
    const bool output_follows = follows_w_bar(estimator.output_weight);
    EXPECT_EQ(changes(layout.V), output_follows);
    EXPECT_EQ(changes(layout.c), output_follows);
    EXPECT_EQ(changes(layout.hidden[1].W_s), estimator.follows_w_bar);
    EXPECT_EQ(changes(layout.hidden[1].b_s), estimator.follows_w_bar);
  }
}

// Further chunks of particles take over what the first has computed for all, so that x no longer
// matters.
TEST_P(PassTest, WhatParticlesShareIsComputedOnce) {
  const NetworkSpec spec = network(6, {"7d", "9s", "5s"}, 4, Output::bernoulli);
  const std::int64_t N = 3, M = 4;
  const Vector wide = random_params(spec, 1);
  const Buffer params = upload(*backend_, std::vector<float>(wide.begin(), wide.end()));
  Pass pass(*backend_, spec, {.backward = false}, N, M);
  const auto shared = [&](float value, std::int64_t first_particle) {
    const std::vector<float> x(pass.x(N).size(), value);
    backend_->upload(std::as_bytes(std::span(x)), reinterpret_cast<std::byte*>(pass.x(N).data));
    pass.forward({.N = N, .M = M, .first_particle = first_particle}, params.floats());
    return download(*backend_, pass.a_s(1).data, pass.a_s(1).size());
  };
  const std::vector<float> first = shared(1, 0);
  EXPECT_EQ(first.size(), std::size_t(N * 9));
  EXPECT_EQ(shared(-1, M), first);
  EXPECT_NE(shared(-1, 0), first);
}

TEST(Pass, RefusesParticlesWithoutRandomness) {
  const auto backend = make_backend({.device = "cpu", .threads = 1});
  EXPECT_THROW(Pass(*backend, network(5, {"6d"}, 7, Output::bernoulli), {}, 3, 2), ShapeError);
}

INSTANTIATE_TEST_SUITE_P(Backends, PassTest, backends_under_test(),
                         [](const auto& suite) { return std::string(suite.param); });

}  // namespace
}  // namespace sfnn
