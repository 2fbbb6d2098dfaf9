// Evaluation against the reference, and what must not matter: threads, chunks, how M is reached.
#include "host/train/evaluate.hpp"

#include <gtest/gtest.h>

#include "host/base/error.hpp"
#include "host/devices/registry.hpp"
#include "host/train/hidden_means.hpp"
#include "host/train/proposal.hpp"
#include "kernels/philox.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/enumerate.hpp"
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

  Evaluation run(std::int64_t M) const {
    return evaluate(model, examples, {.particles = M, .seed = 8});
  }
  ReferenceBatch batch(std::int64_t M) const {
    ReferenceBatch batch{.N = examples.count, .M = M};
    const auto to_vector = [](const Columns& c) {
      return to_double(std::get<std::vector<float>>(c.values));
    };
    batch.x = to_vector(examples.x);
    batch.y = to_vector(examples.y);
    return batch;
  }
  ReferenceResult reference(std::int64_t M) const {
    ReferenceBatch batch = this->batch(M);
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
    const bool is_class = GetParam() == Output::softmax;
    const bool is_learnt = GetParam() == Output::gaussian_learnt;
    const double sigma =
        is_learnt ? 0.001 + 0.999 * std::exp(f.params[ParamLayout(f.spec).rho.offset]) : 1;
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
        for (std::int64_t i = 0; i < f.spec.D_out && !is_class; ++i) {
          sse += std::pow(expected.particles[n * M + m].o[i] - f.examples.y.at(n, i), 2);
        }
        half_sse.push_back(-sse / 2 / (sigma * sigma));
      }
      criterion_sse +=
          -2 * sigma * sigma * (log_sum_exp(half_sse) - std::log(double(M))) / double(N);
      for (std::int64_t i = 0; i < f.spec.D_out && !is_class; ++i) {
        mean_sse += std::pow(mean[i] - f.examples.y.at(n, i), 2) / double(N);
      }
    }
    expect_close(actual.curve, curve, 1e-4, "C_hat_1..M");
    EXPECT_EQ(actual.nll, -actual.curve.back());
    EXPECT_NEAR(actual.effective_particles, ess, 1e-3 * ess);
    EXPECT_EQ(actual.error.has_value(), is_class);
    if (actual.error) {
      EXPECT_NEAR(*actual.error, errors, 1e-12);
    }
    EXPECT_EQ(actual.criterion_sse.has_value(), GetParam() == Output::gaussian || is_learnt);
    if (actual.criterion_sse) {
      EXPECT_NEAR(*actual.criterion_sse, criterion_sse, 1e-3);
    }
    EXPECT_EQ(actual.mean_sse.has_value(), !is_class && GetParam() != Output::bernoulli);
    if (actual.mean_sse) {
      EXPECT_NEAR(*actual.mean_sse, mean_sse, 1e-3 * (1 + mean_sse));
    }
    EXPECT_EQ(actual.sigma.has_value(), is_learnt || GetParam() == Output::gaussian_each);
    if (is_learnt) {
      EXPECT_NEAR(*actual.sigma, sigma, 1e-5 * sigma);
    }
  }
}

// --- with a proposal -----------------------------------------------------------------------------

// The posterior of one unit is a residual R: log P(y|h = 1) - log P(y|h = 0) is linear in y.
std::vector<float> posterior_of_one_unit(const Fixture& f, const NetworkSpec& R) {
  const ParamLayout of_P(f.spec), of_R(R);
  std::vector<float> params(of_R.size);
  double bias = 0;
  for (std::int64_t i = 0; i < f.spec.D_out; ++i) {
    const double V = f.params[of_P.V.offset + i], c = f.params[of_P.c.offset + i];
    params[of_R.V.offset + f.spec.D_in + i] = float(V);
    bias += std::log1p(std::exp(c)) - std::log1p(std::exp(c + V));
  }
  params[of_R.c.offset] = float(bias);
  return params;
}

TEST(EvaluateByProposal, ThePosteriorGivesEqualWeightsInEveryChunkAndTile) {
  for (bool plain : {true, false}) {
    const Fixture f(network(3, {"1s"}, 4, Output::bernoulli), 9, 1, plain);
    const NetworkSpec spec = proposal_network(f.spec, {});
    const Model R(*f.backend, spec, posterior_of_one_unit(f, spec));
    const std::int64_t M = 200;  // more than one chunk
    const Evaluation actual = evaluate(f.model, f.examples, {.particles = M, .seed = 8}, &R);
    ASSERT_TRUE(actual.proposal);
    const ReferenceBatch batch = f.batch(1);
    double exact = 0;
    for (std::int64_t n = 0; n < batch.N; ++n)
      exact -= exact_log_likelihood(enumerate_particle(f.spec, f.params, batch, n));
    EXPECT_NEAR(actual.proposal->nll, exact / double(batch.N), 1e-5);
    EXPECT_NEAR(*actual.proposal->effective_particles, double(M), 1e-3);
    EXPECT_LT(actual.effective_particles, 0.99 * double(M)) << "P is not the posterior";
  }
}

// y is known to R: what it draws must not reach a prediction.
TEST_P(EvaluateOutputs, AProposalLeavesTheFiguresOfPAlone) {
  const Fixture f(network(6, {"9s", "5s+7d"}, 4, GetParam()));
  const NetworkSpec spec = proposal_network(f.spec, {});
  const Vector params = random_params(spec, 6, 0.7);
  const Model R(*f.backend, spec, std::vector<float>(params.begin(), params.end()));
  const Evaluation with = evaluate(f.model, f.examples, {.particles = 70, .seed = 8}, &R);
  const Evaluation without = f.run(70);
  ASSERT_TRUE(with.proposal);
  EXPECT_NE(with.proposal->nll, with.nll);
  EXPECT_EQ(with.nll, without.nll);
  EXPECT_EQ(with.curve, without.curve);
  EXPECT_EQ(with.log_p, without.log_p);
  EXPECT_EQ(with.error, without.error);
  EXPECT_EQ(with.criterion_sse, without.criterion_sse);
  EXPECT_EQ(with.mean_sse, without.mean_sse);
  EXPECT_EQ(with.effective_particles, without.effective_particles);
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
    EXPECT_EQ(several.log_p, one.log_p);
    EXPECT_EQ(several.standard_error.nll, one.standard_error.nll);
    EXPECT_EQ(several.standard_error.error, one.standard_error.error);
  }
}

// The spread of what the figures are the means of, by its definition.
TEST(Evaluate, StandardErrorsAreThoseOfTheExamples) {
  for (const Output output : {Output::softmax, Output::gaussian, Output::bernoulli}) {
    Fixture f(network(6, {"9s"}, 4, output), 25);
    const Evaluation result = f.run(20);
    const double n = 25;
    ASSERT_EQ(result.log_p.size(), 25u);
    double sum = 0, squares = 0;
    for (const double log_p : result.log_p) sum += log_p, squares += log_p * log_p;
    EXPECT_NEAR(result.nll, -sum / n, 1e-9);
    const double se = std::sqrt((squares - sum * sum / n) / (n - 1) / n);
    EXPECT_NEAR(*result.standard_error.nll, se, 1e-9);
    EXPECT_FALSE(result.draw_sd.nll) << "one draw has no spread";
    EXPECT_EQ(result.standard_error.error.has_value(), output == Output::softmax);
    if (result.error) {
      const double e = *result.error;
      EXPECT_NEAR(*result.standard_error.error, std::sqrt(e * (1 - e) / (n - 1)), 1e-12);
    }
    EXPECT_EQ(result.standard_error.mean_sse.has_value(), output == Output::gaussian);
    EXPECT_EQ(result.standard_error.criterion_sse.has_value(), output == Output::gaussian);
  }
  Fixture one(network(6, {"9s"}, 4, Output::bernoulli), 1);
  EXPECT_FALSE(one.run(5).standard_error.nll) << "one example has no spread";
}

TEST(Evaluate, TheConfusionMatrixHasTheClassesAndTheErrors) {
  const std::size_t classes = 4;
  const Fixture f(network(6, {"9s"}, classes, Output::softmax), 25);
  const Evaluation figures = f.run(20);
  ASSERT_EQ(figures.confusion.size(), classes * classes);
  double right = 0, all = 0;
  std::vector<double> wanted(classes), counted(classes);
  for (std::int64_t n = 0; n < 25; ++n) ++counted[std::size_t(f.examples.y.at(n, 0))];
  for (std::size_t i = 0; i < classes; ++i) {
    right += figures.confusion[i * classes + i];
    for (std::size_t j = 0; j < classes; ++j) wanted[i] += figures.confusion[i * classes + j];
    all += wanted[i];
  }
  EXPECT_EQ(wanted, counted);
  EXPECT_NEAR(*figures.error, 1 - right / all, 1e-12);
  EXPECT_TRUE(Fixture(network(6, {"9s"}, 4, Output::bernoulli)).run(5).confusion.empty());
  EXPECT_TRUE(Fixture(network(6, {"9s"}, 101, Output::softmax)).run(5).confusion.empty());
}

TEST(Evaluate, SeveralDrawsAreThoseOfTheFollowingSeeds) {
  Fixture f(network(6, {"9s", "5s"}, 4, Output::gaussian), 12);
  const auto draw = [&](std::uint64_t seed, std::int64_t draws) {
    return evaluate(f.model, f.examples, {.particles = 7, .seed = seed, .draws = draws});
  };
  const Evaluation both = draw(8, 2), first = draw(8, 1), second = draw(9, 1);
  EXPECT_EQ(both.draws, 2);
  EXPECT_NE(first.nll, second.nll);
  EXPECT_DOUBLE_EQ(both.nll, (first.nll + second.nll) / 2);
  EXPECT_DOUBLE_EQ(*both.mean_sse, (*first.mean_sse + *second.mean_sse) / 2);
  EXPECT_DOUBLE_EQ(both.curve[3], (first.curve[3] + second.curve[3]) / 2);
  EXPECT_DOUBLE_EQ(both.log_p[5], (first.log_p[5] + second.log_p[5]) / 2);
  EXPECT_NEAR(*both.draw_sd.nll, std::abs(first.nll - second.nll) / std::sqrt(2), 1e-12);
  Fixture fixed(network(6, {"9d"}, 4, Output::gaussian), 12);
  EXPECT_EQ(evaluate(fixed.model, fixed.examples, {.draws = 5}).draws, 1) << "nothing to draw";
}

TEST(HiddenMeans, EqualTheReferenceForAnyNumberOfThreads) {
  const NetworkSpec spec = network(6, {"9s", "5s+7d", "3n+4d", "8s"}, 4, Output::bernoulli);
  const std::int64_t M = 70, units = 9 + 5 + 7 + 3 + 4 + 8;  // more than one chunk
  for (const bool plain : {true, false}) {
    Fixture f(spec, 9, 1, plain);
    const auto means = hidden_means(f.model, f.examples, {.particles = M, .seed = 8});
    ASSERT_EQ(hidden_units(spec), units);
    const ReferenceResult expected = f.reference(M);
    Vector reference(9 * units);
    for (std::int64_t r = 0; r < 9 * M; ++r) {
      std::int64_t column = r / M * units;
      for (const ReferenceLayer& layer : expected.particles[r].layers) {
        for (const double p : layer.p) reference[column++] += p / double(M);
        for (const double d : layer.d) reference[column++] += d / double(M);
      }
    }
    ASSERT_EQ(means.size(), reference.size());
    for (std::size_t e = 0; e < means.size(); ++e) EXPECT_NEAR(means[e], reference[e], 1e-5) << e;
    Fixture threaded(spec, 9, 4, plain);
    EXPECT_EQ(hidden_means(threaded.model, threaded.examples, {.particles = M, .seed = 8}), means);
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

// sigma of each draw: given, a parameter, one per output, or a second logit.
TEST(SampleOutputs, KnowTheirSigma) {
  const auto free = [](double rho) { return 0.001 + 0.999 * std::exp(rho); };
  for (const OutputRow& row : kOutputs) {
    SCOPED_TRACE(row.name);
    NetworkSpec spec = network(6, {"9s"}, 4, row.id);
    spec.sigma = 0.25;
    Fixture f(spec);
    const std::vector<std::int32_t> rows{2, 5};
    const auto sigmas = sample_outputs(f.model, f.examples, rows, 3, 8).sigmas;
    if (row.family != Output::gaussian) {
      EXPECT_TRUE(sigmas.empty());
      continue;
    }
    const ReferenceResult expected = f.reference(3);
    const auto rho = std::size_t(ParamLayout(spec).rho.offset);
    ASSERT_EQ(sigmas.size(), 2u * 3 * 4);
    for (std::size_t e = 0; e < sigmas.size(); ++e) {
      const std::size_t i = e % 4;
      const Vector& o = expected.particles[rows[e / 12] * 3 + e / 4 % 3].o;
      const double sigma = row.id == Output::gaussian          ? 0.25
                           : row.id == Output::gaussian_learnt ? free(f.params[rho])
                           : row.id == Output::gaussian_each   ? free(f.params[rho + i])
                                                               : free(o[4 + i]);
      EXPECT_NEAR(sigmas[e], sigma, 1e-5 * (1 + sigma));
    }
  }
}

TEST(SampleOutputs, AreTheParticlesMeans) {
  Fixture f(network(6, {"9s"}, 4, Output::bernoulli));
  const std::vector<std::int32_t> rows{2, 5};
  const std::vector<float> outputs = sample_outputs(f.model, f.examples, rows, 3, 8).means;
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
