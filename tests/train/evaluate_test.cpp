// Evaluation against the reference, and what must not matter: threads, chunks, how M is reached.
#include "host/train/evaluate.hpp"

#include <gtest/gtest.h>

#include "host/base/error.hpp"
#include "host/devices/registry.hpp"
#include "kernels/philox.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/run_pass.hpp"
#include "tests/support/small_data.hpp"
#include "tests/support/threads.hpp"

namespace sfnn {
namespace {

struct Fixture {
  explicit Fixture(const NetworkSpec& network_spec, std::int64_t count = 9,
                   int threads = test_threads(1), bool plain = false)
      : spec(network_spec),
        backend(make_backend({.device = "cpu", .plain = plain, .threads = threads})),
        params(random_params(spec, 4, 0.7)),
        examples(small_examples(count, spec.D_in, spec.D_out, spec.output, 5)),
        model(*backend, spec, std::vector<float>(params.begin(), params.end())) {}

  Evaluation run(std::int64_t M) { return evaluate(model, examples, {.particles = M, .seed = 8}); }
  ReferenceResult reference(std::int64_t M) const {
    ReferenceBatch batch{.N = examples.count, .M = M};
    const auto to_vector = [](const Columns& c) {
      return to_double(std::get<std::vector<float>>(c.values));
    };
    batch.x = to_vector(examples.x);
    batch.y = to_vector(examples.y);
    batch.bits = reference_draws(spec, params, batch, 8, kEvaluationStep);
    return reference_pass(spec, params, batch);
  }

  NetworkSpec spec;
  std::unique_ptr<Backend> backend;
  Vector params;
  Examples examples;
  Model model;
};

class EvaluateOutputs : public testing::TestWithParam<Output> {};

TEST_P(EvaluateOutputs, EveryFigureEqualsTheReference) {
  for (bool plain : {true, false}) {
    Fixture f(network(6, {"9s", "5s+7d"}, 4, GetParam()), 9, 1, plain);
    const std::int64_t M = 70, N = f.examples.count;  // more than one chunk
    const Evaluation actual = f.run(M);
    const ReferenceResult expected = f.reference(M);
    ASSERT_EQ(std::int64_t(actual.curve.size()), M);
    double errors = 0, mean_sse = 0, criterion_sse = 0, ess = 0;
    Vector curve(M);
    for (std::int64_t n = 0; n < N; ++n) {
      Vector mean(f.spec.D_out), so_far;
      for (std::int64_t m = 0; m < M; ++m) {
        const ReferenceParticle& particle = expected.particles[n * M + m];
        so_far.push_back(particle.log_w);
        curve[m] += (log_sum_exp(so_far) - std::log(double(m + 1))) / double(N);
        for (std::int64_t i = 0; i < f.spec.D_out; ++i) {
          mean[i] +=
              output_mean_at(f.spec.output, particle.o[i], log_sum_exp(particle.o)) / double(M);
        }
      }
      double squares = 0;
      for (std::int64_t m = 0; m < M; ++m) squares += std::pow(expected.w_bar[n * M + m], 2);
      ess += 1 / squares / double(N);
      errors += double(std::max_element(mean.begin(), mean.end()) - mean.begin() !=
                       f.examples.y.at(n, 0)) /
                double(N);
      Vector half_sse;
      for (std::int64_t m = 0; m < M; ++m) {
        double sse = 0;
        for (std::int64_t i = 0; i < f.spec.D_out && f.spec.output == Output::gaussian; ++i) {
          sse += std::pow(expected.particles[n * M + m].o[i] - f.examples.y.at(n, i), 2);
        }
        half_sse.push_back(-sse / 2);
      }
      criterion_sse += -2 * (log_sum_exp(half_sse) - std::log(double(M))) / double(N);
      for (std::int64_t i = 0; i < f.spec.D_out && f.spec.output == Output::gaussian; ++i) {
        mean_sse += std::pow(mean[i] - f.examples.y.at(n, i), 2) / double(N);
      }
    }
    expect_close(actual.curve, curve, 1e-4, "C_hat_1..M");
    EXPECT_EQ(actual.nll, -actual.curve.back());
    EXPECT_NEAR(actual.effective_particles, ess, 1e-3 * ess);
    EXPECT_EQ(actual.error.has_value(), GetParam() == Output::softmax);
    if (actual.error) {
      EXPECT_NEAR(*actual.error, errors, 1e-12);
    }
    EXPECT_EQ(actual.criterion_sse.has_value(), GetParam() == Output::gaussian);
    if (actual.criterion_sse) {
      EXPECT_NEAR(*actual.criterion_sse, criterion_sse, 1e-3);
    }
    if (actual.mean_sse) {
      EXPECT_NEAR(*actual.mean_sse, mean_sse, 1e-3);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Outputs, EvaluateOutputs, every_output(), output_name);

TEST(Evaluate, MoreParticlesLeaveTheFirstAsTheyWere) {
  Fixture f(network(6, {"9s"}, 4, Output::bernoulli));
  const Evaluation few = f.run(10), many = f.run(150);
  for (std::size_t k = 0; k < few.curve.size(); ++k)
    EXPECT_FLOAT_EQ(float(few.curve[k]), float(many.curve[k]));
}

TEST(Evaluate, SameBitsForAnyNumberOfThreads) {
  const NetworkSpec spec = network(6, {"40s", "33s"}, 10, Output::softmax);
  const Evaluation one = Fixture(spec, 101, 1).run(20);
  for (int threads : {2, 8}) {
    const Evaluation several = Fixture(spec, 101, threads).run(20);
    EXPECT_EQ(several.curve, one.curve);
    EXPECT_EQ(several.error, one.error);
  }
}

TEST(Evaluate, ADeterministicNetworkHasOneParticleAndOneSse) {
  Fixture f(network(6, {"9d"}, 4, Output::gaussian));
  const Evaluation result = f.run(100);
  EXPECT_EQ(result.particles, 1);
  EXPECT_NEAR(*result.criterion_sse, *result.mean_sse, 1e-4);
}

TEST(Evaluate, TheBoundTightensWithM) {  // E[C_hat_M] grows with M
  Fixture f(network(6, {"20s", "20s"}, 8, Output::bernoulli), 60);
  const Evaluation result = f.run(100);
  EXPECT_GT(result.curve[99], result.curve[9]);
  EXPECT_GT(result.curve[9], result.curve[0]);
}

TEST(Evaluate, NoExamplesOrNoParticlesIsRefused) {
  Fixture f(network(6, {"9s"}, 4, Output::bernoulli));
  EXPECT_THROW(f.run(0), ConfigError);
  f.examples.count = 0;
  EXPECT_THROW(f.run(3), ConfigError);
}

TEST(SampleOutputs, AreTheParticlesMeans) {
  Fixture f(network(6, {"9s"}, 4, Output::bernoulli));
  const std::vector<std::int32_t> rows{2, 5};
  const auto outputs = sample_outputs(f.model, f.examples, rows, 3, 8);
  const ReferenceResult expected = f.reference(3);
  ASSERT_EQ(outputs.size(), 2u * 3 * 4);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::int64_t m = 0; m < 3; ++m) {
      for (std::int64_t i = 0; i < 4; ++i) {
        EXPECT_NEAR(outputs[(r * 3 + m) * 4 + i], sigmoid(expected.particles[rows[r] * 3 + m].o[i]),
                    1e-5);
      }
    }
  }
}

}  // namespace
}  // namespace sfnn
