// Training with a learned proposal: the same promises as without one, and that it pays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "host/base/error.hpp"
#include "host/data/dataset.hpp"
#include "host/devices/registry.hpp"
#include "host/train/evaluate.hpp"
#include "host/train/proposal.hpp"
#include "host/train/trainer.hpp"
#include "kernels/philox.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/count_allocations.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/small_data.hpp"
#include "tests/support/threads.hpp"

namespace sfnn {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Backend> cpu(int threads = test_threads(1), bool plain = false) {
  return make_backend({.device = "cpu", .plain = plain, .threads = threads});
}

struct Case {
  const char* name;
  NetworkSpec spec;
  TrainOptions options;
};

std::vector<Case> cases() {
  TrainOptions rws{.seed = 3,
                   .particles = 5,
                   .batch = 16,
                   .epochs = 3,
                   .learning_rate = 0.05,
                   .tiling = {3, 4},
                   .proposal = {.on = true, .learning_rate = 0.1}};
  TrainOptions mixed = rws, bound = rws;
  mixed.proposal.particles_from_P = 2;
  mixed.proposal.hidden = {parse_layer("6d")};
  bound.proposal.rule = ProposalRule::bound;
  bound.proposal.particles_from_P = 1;
  return {{"rws", network(7, {"70s", "9s"}, 5, Output::bernoulli), rws},
          {"mixed", network(7, {"4s+9d", "6s"}, 5, Output::softmax), mixed},
          {"bound", network(7, {"9s", "6s"}, 5, Output::gaussian), bound},
          {"noise", network(7, {"4n+9d", "4n+6d"}, 5, Output::bernoulli), rws},
          {"empty_x", network(0, {"9s", "6s"}, 5, Output::bernoulli), rws}};
}

class ProposalTraining : public testing::TestWithParam<int> {
 protected:
  Case case_ = cases()[GetParam()];
  DataSet data_ = small_data(50, case_.spec.D_in, 5, case_.spec.output);

  TrainState trained(Backend& backend, std::int64_t steps = -1) {
    Trainer trainer(backend, case_.spec, case_.options, data_);
    if (steps < 0) steps = trainer.total_steps();
    while (trainer.step() < steps) trainer.train_step();
    return trainer.state();
  }
};

TEST_P(ProposalTraining, SameBitsForAnyNumberOfThreads) {
  const auto one = cpu(1), four = cpu(4);
  EXPECT_TRUE(trained(*one) == trained(*four));
}

TEST_P(ProposalTraining, BothNetworksLearnAndResumeBitForBit) {
  const auto backend = cpu();
  const TrainState whole = trained(*backend), start = trained(*backend, 0);
  ASSERT_TRUE(whole.R());
  EXPECT_NE(whole.P().params(), start.P().params());
  EXPECT_NE(whole.R()->params(), start.R()->params());
  for (const std::int64_t stop : {1, 6}) {
    const TrainState saved = trained(*backend, stop);
    Trainer second(*backend, case_.spec, case_.options, data_);
    second.restore(saved);
    while (second.step() < second.total_steps()) second.train_step();
    EXPECT_TRUE(second.state() == whole) << "stopped at " << stop;
  }
}

TEST_P(ProposalTraining, TheCpuPathFollowsThePlainOne) {
  const auto fast = cpu(), plain = cpu(1, /*plain=*/true);
  const TrainState a = trained(*fast, 3), b = trained(*plain, 3);
  expect_close(a.P().params(), to_double(b.P().params()), 2e-5, "P");
  expect_close(a.R()->params(), to_double(b.R()->params()), 2e-5, "R");
}

TEST_P(ProposalTraining, ThePlanIsWhatIsTakenAndAStepAllocatesNothing) {
  const auto backend = cpu(1);
  const TrainPlan plan = plan_training(*backend, case_.spec, case_.options, data_);
  Trainer trainer(*backend, case_.spec, case_.options, data_);
  EXPECT_EQ(trainer.workspace_bytes(), plan.workspace_bytes);
  while (trainer.step() < trainer.steps_per_epoch() + 1) trainer.train_step();
  EXPECT_EQ(count_allocations([&] { trainer.train_step(); }), 0);
}

// With drop_below = 0 nothing of P's gradient is left out; the steps stay close.
TEST_P(ProposalTraining, WhatIsDroppedIsSmall) {
  const auto backend = cpu();
  const TrainState dropped = trained(*backend, 4);
  case_.options.drop_below = 0;
  const TrainState all = trained(*backend, 4);
  expect_close(dropped.P().params(), to_double(all.P().params()), 1e-5, "P");
}

INSTANTIATE_TEST_SUITE_P(Cases, ProposalTraining, testing::Range(0, 5),
                         [](const auto& suite) { return std::string(cases()[suite.param].name); });

// On the built-in glyphs, R finds the hidden units that explain a picture: its draws show a better
// likelihood of the same network than as many draws of P, with more effective particles.
TEST(ProposalGlyphs, DrawsOfRAreWorthMoreThanThoseOfP) {
  const auto backend = cpu();
  const DataSet data = load_data({.set = "glyphs", .limit = 600, .test_limit = 100});
  const NetworkSpec spec{.D_in = data.D_in,
                         .hidden = {parse_layer("20s"), parse_layer("20s")},
                         .D_out = data.D_out,
                         .output = data.output};
  Trainer trainer(
      *backend, spec,
      {.particles = 8, .batch = 20, .epochs = 50, .learning_rate = 0.1, .proposal = {.on = true}},
      data);
  const EvaluateOptions options{.particles = 20};
  const Evaluation before = evaluate(trainer.model(), data.test, options, trainer.proposal());
  EXPECT_EQ(before.proposal->nll, before.nll);  // R = P
  EXPECT_EQ(before.proposal->curve, before.curve);
  while (trainer.step() < trainer.total_steps()) trainer.train_step();
  const Evaluation after = evaluate(trainer.model(), data.test, options, trainer.proposal());
  EXPECT_LT(after.nll, before.nll);
  EXPECT_LT(after.proposal->nll, after.nll - 1);
  EXPECT_GT(after.proposal->effective_particles, 1.2 * after.effective_particles);
}

// Scores that do not fall to zero with w_bar may lose no particle: not a bit changes.
TEST(ProposalOptions, ScoresOfBoundAndMixturesDropNothing) {
  const auto backend = cpu();
  const NetworkSpec spec = network(7, {"9s", "6s"}, 5, Output::bernoulli);
  const DataSet data = small_data(50, 7, 5, Output::bernoulli);
  const auto hidden_weights = [&](TrainOptions options, double drop_below) {
    options.drop_below = drop_below;
    Trainer trainer(*backend, spec, options, data);
    trainer.train_step();
    std::vector<float> params = trainer.state().P().params();
    params.resize(std::size_t(trainer.model().layout().V.offset));
    return params;
  };
  for (const Case& c : {cases()[0], cases()[1], cases()[2]}) {
    const bool drops = std::string(c.name) == "rws";
    EXPECT_EQ(hidden_weights(c.options, 0.15) != hidden_weights(c.options, 0), drops) << c.name;
  }
}

// auto is 1/M whatever train.estimator says, which is not read; with c = 0 a mixture may drop.
TEST(ProposalOptions, AutoCIsOneOverM) {
  const auto backend = cpu();
  const Case mixed = cases()[1];
  const DataSet data = small_data(50, mixed.spec.D_in, 5, mixed.spec.output);
  const auto trained = [&](std::optional<double> c, Estimator estimator) {
    TrainOptions options = mixed.options;
    options.c = c;
    options.estimator = estimator;
    Trainer trainer(*backend, mixed.spec, options, data);
    for (int k = 0; k < 3; ++k) trainer.train_step();
    return trainer.state();
  };
  const TrainState automatic = trained({}, Estimator::vimco);
  EXPECT_TRUE(automatic == trained(0.2, Estimator::G3));
  EXPECT_NE(automatic.P().params(), trained(0.0, Estimator::G3).P().params());
  TrainOptions options = mixed.options;
  EXPECT_FALSE(estimator_of(options).follows_w_bar);
  options.c = 0.0;
  EXPECT_TRUE(estimator_of(options).follows_w_bar);
  options.proposal.rule = ProposalRule::bound;
  EXPECT_FALSE(estimator_of(options).follows_w_bar);
}

TEST(ProposalOptions, ClipNormIsForBothNetworksTogether) {
  const auto backend = cpu();
  Case c = cases()[0];
  c.options.proposal.learning_rate.reset();
  c.options.momentum = 0;
  c.options.clip_norm = 0.1;
  const DataSet data = small_data(50, c.spec.D_in, 5, c.spec.output);
  Trainer trainer(*backend, c.spec, c.options, data);
  const auto squares = [](const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(double(a[i]) - double(b[i]), 2);
    return sum;
  };
  trainer.train_step();
  trainer.train_step();  // R differs from P now, and so both have a gradient
  const TrainState before = trainer.state();
  const double rate = trainer.learning_rate(trainer.step());
  trainer.train_step();
  const TrainState after = trainer.state();
  const double of_P = squares(before.P().params(), after.P().params()),
               of_R = squares(before.R()->params(), after.R()->params());
  EXPECT_GT(of_P, 0);
  EXPECT_GT(of_R, 0.01 * of_P);
  EXPECT_NEAR(std::sqrt(of_P + of_R), 0.1 * rate, 0.01 * 0.1 * rate);
}

TEST(ProposalOptions, AreRefusedIfTheyTeachNothing) {
  const NetworkSpec spec = network(3, {"4s"}, 2, Output::bernoulli);
  const auto expect_refused = [&](const TrainOptions& options, const NetworkSpec& of,
                                  const char* says) {
    try {
      validate(options, of);
      ADD_FAILURE() << says;
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr(says));
    }
  };
  EXPECT_NO_THROW(validate({.proposal = {.on = true}}, spec));
  expect_refused({.proposal = {.on = true}}, network(3, {"4d"}, 2, Output::bernoulli),
                 "no stochastic units");
  expect_refused({.particles = 1, .proposal = {.on = true}}, spec, "train.particles = 1");
  expect_refused({.proposal = {.on = true, .hidden = {parse_layer("4s")}}}, spec,
                 "proposal.hidden");
  expect_refused({.particles = 5, .proposal = {.on = true, .particles_from_P = 6}}, spec,
                 "proposal.particles_from_P = 6");
  expect_refused({.learning_rate = 0, .proposal = {.on = true, .learning_rate = 0.1}}, spec,
                 "proposal.learning_rate");
  expect_refused(
      {.proposal = {.on = true,
                    .hidden = std::vector<LayerSpec>(kSiteMaxHidden + 1, parse_layer("1d"))}},
      spec, "R: ");
}

}  // namespace
}  // namespace sfnn
