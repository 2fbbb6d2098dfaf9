// A study's figures against sums over all that a small network can draw, in double precision.
#include "host/train/estimator_study.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "host/base/error.hpp"
#include "host/devices/registry.hpp"
#include "host/train/gradient_draws.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/enumerate.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/random.hpp"
#include "tests/support/small_data.hpp"

namespace sfnn {
namespace {

// A network, its weights and a data set that is one batch.
struct Small {
  explicit Small(NetworkSpec network_spec, std::int64_t N = 4, std::uint64_t seed = 3)
      : spec(std::move(network_spec)),
        data(small_data(N, spec.D_in, spec.D_out, spec.output, seed)),
        params(random_params(spec, seed)),
        weights(params.begin(), params.end()) {}

  ReferenceBatch batch(std::int64_t M) const {
    ReferenceBatch result{.N = data.train.count, .M = M};
    for (std::int64_t n = 0; n < result.N; ++n) {
      for (std::int64_t i = 0; i < data.train.x.cols; ++i)
        result.x.push_back(data.train.x.at(n, i));
      for (std::int64_t i = 0; i < data.train.y.cols; ++i)
        result.y.push_back(data.train.y.at(n, i));
    }
    return result;
  }
  Model model() const { return {*backend, spec, weights, data.units}; }
  StudyOptions options(std::int64_t M, std::int64_t draws) const {
    return {.train = {.seed = 5, .particles = M, .batch = data.train.count}, .draws = draws};
  }

  NetworkSpec spec;
  DataSet data;
  Vector params;
  std::vector<float> weights;
  std::unique_ptr<Backend> backend = make_backend({.device = "cpu", .threads = 1});
};

Small two_layers() { return Small(network(3, {"3s", "2s"}, 2, Output::bernoulli)); }

// d/dtheta of the mean of log P(y|x), by finite differences of the enumerated likelihood.
Vector derivative_of_C(const Small& small) {
  constexpr double kStep = 1e-5;
  const ReferenceBatch batch = small.batch(1);
  const auto C = [&](const Vector& params) {
    double sum = 0;
    for (std::int64_t n = 0; n < batch.N; ++n)
      sum += exact_log_likelihood(enumerate_particle(small.spec, params, batch, n));
    return sum / double(batch.N);
  };
  Vector result(small.params.size(), 0.0);
  for (const ParamSlot& slot : ParamLayout(small.spec).slots()) {
    for (std::int64_t e = slot.offset; e < slot.offset + slot.size(); ++e) {
      Vector up = small.params, down = small.params;
      up[e] += kStep;
      down[e] -= kStep;
      result[e] = (C(up) - C(down)) / (2 * kStep);
    }
  }
  return result;
}

double sum_over(const ParamSlot& slot, const Vector& v, double (*f)(double)) {
  double sum = 0;
  for (std::int64_t e = slot.offset; e < slot.offset + slot.size(); ++e) sum += f(v[e]);
  return sum;
}
double square(double v) { return v * v; }
double same(double v) { return v; }

TEST(ExactGradient, IsTheDerivativeOfTheLogLikelihood) {
  for (const NetworkSpec& spec :
       {network(3, {"3s", "2s"}, 2, Output::bernoulli), network(2, {"4s"}, 3, Output::softmax),
        network(2, {"2s+2d", "1s+2d"}, 2, Output::gaussian),
        network(2, {"2n+2d", "2s"}, 2, Output::bernoulli),
        network(0, {"2s", "2d", "1s"}, 2, Output::bernoulli)}) {
    const Small small{spec};
    expect_close(exact_gradient(small.model(), small.data), derivative_of_C(small), 3e-6,
                 to_string(spec));
  }
}

TEST(ExactGradient, RefusesWhatIsTooLarge) {
  const Small small{network(2, {"10s", "3s"}, 2, Output::bernoulli)};
  EXPECT_THROW(exact_gradient(small.model(), small.data), ConfigError);
}

// The figures of all estimators, each against its own enumerated mean and covariance and the
// derivative of log P(y|x).
TEST(EstimatorStudy, FiguresAreThoseOfTheEnumeratedDistribution) {
  constexpr std::int64_t M = 2, kDraws = 4000;
  const Small small = two_layers();
  const Vector truth = derivative_of_C(small);
  const Study study = study_estimators(small.model(), small.data, small.options(M, kDraws));
  EXPECT_EQ(study.reference.particles, 0);  // enumerated
  ASSERT_EQ(study.estimators.size(), kEstimators.size());
  const ParamLayout layout(small.spec);
  const std::vector<ParamSlot> slots{layout.hidden[0].W_s, layout.hidden[1].W_s, layout.V};
  const double N = double(small.data.train.count);
  for (const EstimatorFigures& figures : study.estimators) {
    GradientMoments exact =
        enumerate_gradient(small.spec, small.params, small.batch(M),
                           {.id = *parse_estimator(figures.estimator), .mean_over_u = true});
    EXPECT_GT(figures.seconds, 0);
    EXPECT_LT(figures.seconds, 10);
    for (double& value : exact.mean) value /= N;
    for (double& value : exact.variance) value /= N * N;
    Vector bias = exact.mean;
    for (std::size_t e = 0; e < bias.size(); ++e) bias[e] -= truth[e];
    ASSERT_EQ(figures.weights.size(), slots.size());
    for (std::size_t s = 0; s < slots.size(); ++s) {
      const GradientFigures& got = figures.weights[s];
      const std::string what = figures.estimator + " " + got.weights;
      const double norm = sum_over(slots[s], truth, square);
      EXPECT_EQ(got.weights, slots[s].name);
      const double exact_bias = sum_over(slots[s], bias, square) / norm;
      const double variance = sum_over(slots[s], exact.variance, same) / norm;
      // A t distribution of 9 degrees of freedom: 6 of its errors are 1 in 5000.
      EXPECT_NEAR(got.bias.value, exact_bias, 6 * got.bias.error) << what;
      // The error of |b|^2 is at most 2 |b| sqrt(t) + sqrt(2) t, t = trace / draws; its estimate
      // from 10 groups is seldom twice that.
      // st-gumbel's enumerated variance lacks that of its uniforms.
      if (figures.estimator == "st-gumbel" && s + 1 < slots.size()) continue;
      const double t = variance / kDraws;
      EXPECT_LT(got.bias.error, 2 * (2 * std::sqrt(exact_bias * t) + std::sqrt(2) * t)) << what;
      // G1's enumerated variance has another baseline than the study's, so it is compared below.
      if (figures.estimator == "G1" && s + 1 < slots.size()) continue;
      EXPECT_NEAR(got.variance / variance, 1, 0.08) << what;
    }
  }
}

const GradientFigures& figures_of(const Study& study, Estimator id, std::size_t matrix) {
  for (const EstimatorFigures& figures : study.estimators)
    if (figures.estimator == row_of(id).name) return figures.weights[matrix];
  throw ShapeError("not studied");
}

// G4 and G5 have one mean; taking 1/M off leaves less variance. G1 follows E[C_hat_M], which is
// closer to C than the bound with Q fixed; its baseline leaves less variance than none would.
TEST(EstimatorStudy, WhatThePaperSaysOfTheEstimators) {
  const Small small = two_layers();
  const Study study =
      study_estimators(small.model(), small.data, small.options(/*M=*/2, /*draws=*/4000));
  const double no_baseline = [&] {
    const Vector v =
        enumerate_gradient(small.spec, small.params, small.batch(2), {.id = Estimator::G1})
            .variance;
    const ParamSlot slot = ParamLayout(small.spec).hidden[0].W_s;
    return sum_over(slot, v, same) / square(double(small.data.train.count)) /
           sum_over(slot, derivative_of_C(small), square);
  }();
  for (const std::size_t layer : {0, 1}) {
    const auto of = [&](Estimator id) { return figures_of(study, id, layer); };
    EXPECT_NEAR(of(Estimator::G4).bias.value, of(Estimator::G5).bias.value,
                4 * std::hypot(of(Estimator::G4).bias.error, of(Estimator::G5).bias.error));
    EXPECT_LT(of(Estimator::G5).variance, 0.8 * of(Estimator::G4).variance);
    EXPECT_LT(of(Estimator::G3).variance, of(Estimator::G5).variance);
    EXPECT_GT(of(Estimator::G3).cosine, of(Estimator::G5).cosine);
    EXPECT_GT(of(Estimator::G5).cosine, of(Estimator::G4).cosine);
    EXPECT_LT(of(Estimator::G1).bias.value, of(Estimator::G5).bias.value);
  }
  EXPECT_LT(figures_of(study, Estimator::G1, 0).variance, 0.8 * no_baseline);
}

// What the output's weights get does not depend on the estimator, draw by draw.
TEST(EstimatorStudy, EstimatorsAgreeOnTheOutputsWeights) {
  const Small small = two_layers();
  const Study study =
      study_estimators(small.model(), small.data, small.options(/*M=*/5, /*draws=*/20));
  for (const EstimatorFigures& figures : study.estimators) {
    if (figures.estimator == "rloo") continue;  // weighs all particles equally
    const GradientFigures &V = figures.weights.back(), &first = study.estimators[0].weights.back();
    EXPECT_NEAR(V.cosine, first.cosine, 1e-5);
    EXPECT_NEAR(V.variance, first.variance, 1e-4 * first.variance);
    EXPECT_NEAR(V.bias.value, first.bias.value, 1e-4);
  }
}

// G5's mean approaches the truth as 1/M, and what a quarter of M is off by says how near it is.
TEST(EstimatorStudy, ManyParticlesReplaceEnumeration) {
  const Small small = two_layers();
  StudyOptions options = small.options(/*M=*/4, /*draws=*/500);
  const Study exact = study_estimators(small.model(), small.data, options);
  options.reference_particles = 4000;
  const Study estimated = study_estimators(small.model(), small.data, options);
  EXPECT_EQ(estimated.reference.particles, 4000);
  ASSERT_EQ(estimated.reference.quarter_bias.size(), 3u);
  const auto bound = [](const SquaredLength& l) { return std::max(0.0, l.value) + 2 * l.error; };
  for (const SquaredLength& bias : estimated.reference.quarter_bias) EXPECT_LT(bound(bias), 0.03);
  for (std::size_t e = 0; e < exact.estimators.size(); ++e) {
    for (std::size_t s = 0; s < 3; ++s) {
      const GradientFigures &a = exact.estimators[e].weights[s],
                            &b = estimated.estimators[e].weights[s];
      EXPECT_NEAR(a.bias.value, b.bias.value, 4 * std::hypot(a.bias.error, b.bias.error) + 1e-3);
      EXPECT_NEAR(a.cosine, b.cosine, 0.02);
      EXPECT_NEAR(a.variance / b.variance, 1, 0.05);
    }
  }
  options.reference_particles = 8;  // far too few, and it shows
  const Study poor = study_estimators(small.model(), small.data, options);
  EXPECT_GT(bound(poor.reference.quarter_bias[0]), 0.3);
}

bool all_known(const GradientFigures& f) {
  return f.bias.known() && std::isfinite(f.bias.error) && std::isfinite(f.variance) &&
         std::isfinite(f.cosine) && std::isfinite(f.cosine_sd);
}
bool all_unknown(const GradientFigures& f) {
  return !f.bias.known() && std::isnan(f.bias.error) && std::isnan(f.variance) &&
         std::isnan(f.cosine) && std::isnan(f.cosine_sd);
}

// A unit's input is far from zero for every example, so that all particles are alike.
TEST(EstimatorStudy, SaturatedUnitsLeaveNothingToCompareWith) {
  Small small = two_layers();
  for (const LayerSlots& slots : ParamLayout(small.spec).hidden)
    for (const ParamSlot& slot : {slots.W_s, slots.b_s})
      for (std::int64_t e = 0; e < slot.size(); ++e) small.weights[slot.offset + e] *= 1e5f;
  StudyOptions options = small.options(/*M=*/4, /*draws=*/10);
  for (const bool enumerated : {true, false}) {
    if (!enumerated) options.reference_particles = 8;
    const Study study = study_estimators(small.model(), small.data, options);
    EXPECT_EQ(
        study.reference.gradient,
        (std::vector{ReferenceGradient::zero, ReferenceGradient::zero, ReferenceGradient::found}));
    for (const EstimatorFigures& figures : study.estimators) {
      EXPECT_TRUE(all_unknown(figures.weights[0]) && all_unknown(figures.weights[1]));
      EXPECT_TRUE(all_known(figures.weights[2]));
    }
    if (enumerated) continue;
    EXPECT_FALSE(study.reference.quarter_bias[0].known());
    EXPECT_TRUE(study.reference.quarter_bias[2].known());
  }
}

// |g_ref|^2 without its noise may come out below zero, and dividing by it would make a squared
// length negative. Either all figures of a matrix are known or none is.
TEST(EstimatorStudy, AReferenceLostInItsNoiseIsSaidToBe) {
  const Small small = two_layers();
  StudyOptions options = small.options(/*M=*/4, /*draws=*/10);
  options.reference_particles = 8;
  options.train.batch = 1;
  int found = 0, lost = 0;
  for (options.train.seed = 0; options.train.seed < 60; ++options.train.seed) {
    const Study study = study_estimators(small.model(), small.data, options);
    for (std::size_t s = 0; s < study.reference.gradient.size(); ++s) {
      const bool is_found = study.reference.gradient[s] == ReferenceGradient::found;
      ++(is_found ? found : lost);
      EXPECT_EQ(study.reference.quarter_bias[s].known(), is_found);
      for (const EstimatorFigures& figures : study.estimators)
        EXPECT_TRUE(is_found ? all_known(figures.weights[s]) : all_unknown(figures.weights[s]));
    }
  }
  EXPECT_GT(found, 0);
  EXPECT_GT(lost, 0);
}

TEST(EstimatorStudy, OneParticleLeavesThoseThatNeedNoOthers) {
  const Small small = two_layers();
  const Study study =
      study_estimators(small.model(), small.data, small.options(/*M=*/1, /*draws=*/10));
  std::string names;
  for (const EstimatorFigures& figures : study.estimators) names += figures.estimator + " ";
  EXPECT_EQ(names, "G1 G2 G3 darn st-gumbel ");
}

TEST(EstimatorStudy, SameSeedSameFiguresAndProgressEndsAtOne) {
  const Small small = two_layers();
  StudyOptions options = small.options(/*M=*/3, /*draws=*/12);
  double share = 0;
  options.progress = [&](double done) {
    EXPECT_GT(done, share);
    share = done;
  };
  const auto run = [&] {
    share = 0;
    return study_estimators(small.model(), small.data, options);
  };
  const Study first = run(), second = run();
  EXPECT_DOUBLE_EQ(share, 1);
  for (std::size_t e = 0; e < first.estimators.size(); ++e)
    EXPECT_EQ(first.estimators[e].weights[0].bias.value,
              second.estimators[e].weights[0].bias.value);
}

TEST(EstimatorStudy, RefusesWhatCannotBeStudied) {
  const Small small = two_layers(), noise{network(2, {"2n+2d"}, 2, Output::bernoulli)};
  const auto study = [](const Small& s, const StudyOptions& options) {
    return study_estimators(s.model(), s.data, options);
  };
  EXPECT_THROW(study(noise, noise.options(2, 20)), ConfigError);
  EXPECT_THROW(study(small, small.options(2, 9)), ConfigError);
  StudyOptions options = small.options(2, 20);
  options.reference_particles = 4;
  EXPECT_THROW(study(small, options), ConfigError);
  options = small.options(2, 20);
  options.train.batch = small.data.train.count + 1;
  EXPECT_THROW(study(small, options), ConfigError);
}

// c = 0 would make G4 of G5.
TEST(EstimatorStudy, AConstantOfTheRunsOwnEstimatorIsNotG5s) {
  const Small small = two_layers();
  const auto variance = [&](Estimator run, std::optional<double> c, bool with_R = false) {
    StudyOptions options = small.options(/*M=*/3, /*draws=*/20);
    options.train.estimator = run;
    options.train.c = c;
    options.train.proposal.on = with_R;
    const Study study = study_estimators(small.model(), small.data, options);
    for (const EstimatorFigures& figures : study.estimators)
      if (figures.estimator == "G5") return figures.weights.at(0).variance;
    throw Error("G5 was not studied");
  };
  const double own = variance(Estimator::G3, std::nullopt);
  EXPECT_EQ(variance(Estimator::vimco, 0.0), own);
  EXPECT_EQ(variance(Estimator::G3, 0.0, /*with_R=*/true), own);
  EXPECT_NE(variance(Estimator::G3, 0.0), own) << "here it is meant for G5";
}

// A batch that training would draw again at each step stays the same here.
TEST(EstimatorStudy, TheBatchIsDrawnOnce) {
  Small small(network(3, {"2s"}, 2, Output::bernoulli), /*N=*/40);
  std::vector<float> grey(40 * 3, 0.5f);
  small.data.train.x.values = grey;
  small.data.binarize_train = true;
  const DataSet batch =
      fixed_batch(small.model(), {.seed = 1, .data_seed = 2, .noise = 0.25}, small.data, 30);
  EXPECT_EQ(batch.train.count, 30);
  EXPECT_FALSE(batch.binarize_train);
  double ones = 0, deviation = 0;
  for (std::int64_t n = 0; n < 30; ++n) {
    for (std::int64_t i = 0; i < 3; ++i) {
      const double x = batch.train.x.at(n, i), bit = x > 0.5;
      ones += bit;
      deviation += square(x - bit) / 90;
    }
    EXPECT_TRUE(batch.train.y.at(n, 0) == 0 || batch.train.y.at(n, 0) == 1);
  }
  EXPECT_GT(ones, 25);
  EXPECT_LT(ones, 65);
  EXPECT_NEAR(std::sqrt(deviation), 0.25, 0.08);
}

// L_bar is there from the first draw on: without it, G1's draws are as long as enumeration says.
TEST(GradientDraws, G1sBaselineIsWarm) {
  constexpr int kSeeds = 100;
  const Small small = two_layers();
  const ParamSlot slot = ParamLayout(small.spec).hidden[0].W_s;
  const GradientMoments cold =
      enumerate_gradient(small.spec, small.params, small.batch(2), {.id = Estimator::G1});
  const double cold_square =
      (sum_over(slot, cold.variance, same) + sum_over(slot, cold.mean, square)) /
      square(double(small.data.train.count));
  double warm_square = 0;
  TrainOptions options = small.options(/*M=*/2, /*draws=*/1).train;
  options.estimator = Estimator::G1;
  for (int seed = 0; seed < kSeeds; ++seed) {
    options.seed = std::uint64_t(seed);
    const Model model = small.model();
    GradientDraws draws(model, options, small.data);
    const std::vector<float> g = draws.next();
    warm_square += sum_over(slot, to_double(g), square) / kSeeds;
  }
  EXPECT_LT(warm_square, 0.3 * cold_square);
}

// E|g| of one draw, summed over all that two particles of one example may draw.
TEST(NormAgainstC, IsTheExpectedNormOfOneDraw) {
  const Small small(network(3, {"3s", "2s"}, 2, Output::bernoulli), /*N=*/1);
  const ParamSlot slot = ParamLayout(small.spec).hidden[0].W_s;
  const std::vector<double> cM{0, 1, 3};
  const std::vector<NormAtC> norms =
      norm_against_c(small.model(), small.data, small.options(2, 4000), cM);
  ASSERT_EQ(norms.size(), 3u);
  for (std::size_t i = 0; i < cM.size(); ++i) {
    double expected = 0;
    ReferenceBatch batch = small.batch(2);
    for_each_assignment(small.spec, 2, [&](const LayerBits& bits) {
      batch.bits = bits;
      const ReferenceResult result =
          reference_pass(small.spec, small.params, batch, {.id = Estimator::G5, .c = cM[i] / 2});
      const double log_p = result.particles[0].log_p + result.particles[1].log_p;
      expected += std::exp(log_p) * std::sqrt(sum_over(slot, result.gradient, square));
    });
    EXPECT_EQ(norms[i].cM, cM[i]);
    EXPECT_NEAR(norms[i].norm, expected, 4.5 * norms[i].error);
    EXPECT_LT(norms[i].error, 0.05 * expected);
  }
  EXPECT_LT(norms[1].norm, norms[0].norm);
  EXPECT_LT(norms[1].norm, norms[2].norm);
}

}  // namespace
}  // namespace sfnn
