// Whole training steps on the CUDA backend against the plain CPU path, parameter for parameter:
// launch by launch, and replayed as a graph.
#include <gtest/gtest.h>

#include "host/devices/registry.hpp"
#include "host/train/evaluate.hpp"
#include "host/train/trainer.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/random.hpp"

namespace sfnn {
namespace {

// 11 examples in batches of 4: the last batch of an epoch is smaller.
DataSet small_data(const NetworkSpec& spec, std::uint64_t seed) {
  const ReferenceBatch batch = random_batch(spec, 11, 1, seed);
  DataSet data{.D_in = spec.D_in, .D_out = spec.D_out, .output = row_of(spec.output).family};
  data.train.count = batch.N;
  data.train.x = {std::vector<float>(batch.x.begin(), batch.x.end()), spec.D_in};
  data.train.y = {std::vector<float>(batch.y.begin(), batch.y.end()), spec.target_width()};
  return data;
}

TrainOptions small_options(Estimator estimator) {
  return {.estimator = estimator,
          .particles = 3,
          .batch = 4,
          .epochs = 3,
          .learning_rate = 0.1,
          .hidden_rate = estimator == Estimator::G1 ? 0.5 : 1};
}

class TrainStep : public testing::TestWithParam<const char*> {
 protected:
  static TrainState train(Backend& backend, const NetworkSpec& spec, const TrainOptions& options,
                          const DataSet& data) {
    Trainer trainer(backend, spec, options, data);
    while (trainer.step() < trainer.total_steps()) trainer.train_step();
    return trainer.state();
  }

  static void expect_same(const TrainState& actual, const TrainState& expected) {
    const auto close = [](const std::vector<float>& a, const std::vector<float>& b,
                          const char* what) {
      double largest = 1;
      for (float value : b) largest = std::max(largest, std::abs(double(value)));
      expect_close(a, Vector(b.begin(), b.end()), 2e-5 * largest, what);
    };
    ASSERT_EQ(actual.networks.size(), expected.networks.size());
    for (const auto& [name, network] : expected.networks) {
      const auto& arrays = actual.networks.at(name).arrays;
      ASSERT_EQ(arrays.size(), network.arrays.size());
      for (std::size_t a = 0; a < arrays.size(); ++a)
        close(arrays[a].values, network.arrays[a].values,
              (name + " " + network.arrays[a].name).c_str());
    }
    EXPECT_NEAR(actual.c_hat_sum, expected.c_hat_sum, 1e-4 * (1 + std::abs(expected.c_hat_sum)));
    EXPECT_NEAR(actual.effective_particles_sum, expected.effective_particles_sum,
                1e-4 * (1 + expected.effective_particles_sum));
  }
};

TEST_P(TrainStep, EveryEstimatorNetworkAndOutput) {
  const auto cpu = make_backend({.device = "cpu", .plain = true, .threads = 1});
  for (const bool graph : {false, true}) {
    const auto gpu = make_test_backend(GetParam(), graph);
    for (const OutputRow& row : kOutputs) {
      for (const auto& layers : {std::initializer_list<const char*>{"6s", "5s"},
                                 {"6d", "5d"},
                                 {"3s+4d", "2s+5d"},
                                 {"3n+4d"}}) {
        const NetworkSpec spec = network(5, layers, 4, row.id);
        const DataSet data = small_data(spec, 3);
        for (const EstimatorRow& estimator : kEstimators) {
          SCOPED_TRACE(to_string(spec) + " " + std::string(estimator.name) +
                       (graph ? " as a graph" : ""));
          const TrainOptions options = small_options(estimator.id);
          expect_same(train(*gpu, spec, options, data), train(*cpu, spec, options, data));
          if (!spec.trains_s()) break;  // the estimator does not matter
        }
      }
    }
  }
}

// Each optimiser, schedule, an average and a norm that clips: launch by launch and as a graph,
// which reads Adam's correction and the average's share from the clock.
TEST_P(TrainStep, EveryOptimizer) {
  const NetworkSpec spec = network(5, {"6s", "2s+5d"}, 4, Output::bernoulli);
  const DataSet data = small_data(spec, 7);
  const auto cpu = make_backend({.device = "cpu", .plain = true, .threads = 1});
  for (const OptimizerRow& row : kOptimizers) {
    SCOPED_TRACE(row.name);
    TrainOptions options = small_options(Estimator::G3);
    options.optimizer = row.id;
    options.learning_rate = row.is_adam() ? 0.01 : 0.1;
    options.schedule = ScheduleKind::cosine;
    options.weight_decay = 0.1;
    options.hidden_rate = 0.5;
    options.ema = 0.9;
    options.drop_below = 0;
    options.clip_norm = row.id == OptimizerKind::sgd ? 0 : 0.5;
    const TrainState expected = train(*cpu, spec, options, data);
    const auto eager = make_test_backend(GetParam(), false),
               graph = make_test_backend(GetParam(), true);
    const TrainState actual = train(*eager, spec, options, data);
    expect_same(actual, expected);
    EXPECT_NEAR(actual.gradient_norm_sum, expected.gradient_norm_sum,
                1e-4 * expected.gradient_norm_sum);
    EXPECT_EQ(actual.clipped_steps, expected.clipped_steps);
    const TrainState replayed = train(*graph, spec, options, data);
    EXPECT_EQ(replayed.P().arrays, actual.P().arrays);
    EXPECT_EQ(replayed.gradient_norm_sum, actual.gradient_norm_sum);
  }
}

// Both rules, with and without particles of P, in tiles: R's pass and update are part of the graph.
TEST_P(TrainStep, ALearnedProposal) {
  const auto cpu = make_backend({.device = "cpu", .plain = true, .threads = 1});
  const auto eager = make_test_backend(GetParam(), false),
             graph = make_test_backend(GetParam(), true);
  for (const auto& layers : {std::initializer_list<const char*>{"6s", "5s"}, {"3n+4d", "2s+5d"}}) {
    const NetworkSpec spec = network(5, layers, 4, Output::bernoulli);
    const DataSet data = small_data(spec, 9);
    for (const auto& [rule, name] : kProposalRules) {
      for (const std::int64_t from_P : {0, 1}) {
        SCOPED_TRACE(to_string(spec) + " " + std::string(name) + " " + std::to_string(from_P));
        TrainOptions options = small_options(Estimator::G3);
        options.tiling = {3, 2};
        options.drop_below = 0;  // a graph drops no particles
        options.proposal = {.on = true,
                            .hidden = {parse_layer("6d")},
                            .learning_rate = 0.2,
                            .particles_from_P = from_P,
                            .rule = rule};
        const TrainState actual = train(*eager, spec, options, data);
        ASSERT_TRUE(actual.R());
        expect_same(actual, train(*cpu, spec, options, data));
        EXPECT_EQ(train(*graph, spec, options, data).networks, actual.networks);
      }
    }
  }
}

// Recording must not change a bit, nor leave the draws of one step to the next.
TEST_P(TrainStep, AGraphIsTheSameStep) {
  const NetworkSpec spec = network(5, {"6s", "5s"}, 4, Output::bernoulli);
  const DataSet data = small_data(spec, 4);
  TrainOptions options = small_options(Estimator::G5);
  options.drop_below = 0;
  const auto eager = make_test_backend(GetParam(), false),
             graph = make_test_backend(GetParam(), true);
  const TrainState a = train(*eager, spec, options, data), b = train(*graph, spec, options, data);
  EXPECT_EQ(a.P().array("params"), b.P().array("params"));
  EXPECT_EQ(a.P().arrays, b.P().arrays);
  EXPECT_EQ(a.c_hat_sum, b.c_hat_sum);
}

// Scratch memory that another network makes grow has left the place that a recorded step names.
TEST_P(TrainStep, AGraphIsRecordedAnewWhereMemoryHasMoved) {
  const NetworkSpec small = network(5, {"6s", "5s"}, 4, Output::bernoulli),
                    large = network(9, {"30s", "20s"}, 8, Output::bernoulli);
  const DataSet data = small_data(small, 4), large_data = small_data(large, 4);
  const TrainOptions options = small_options(Estimator::G3);
  const auto backend = make_test_backend(GetParam(), true);
  Trainer trainer(*backend, small, options, data);
  for (int step = 0; step < 5; ++step) trainer.train_step();  // recorded, and replayed
  train(*backend, large, options, large_data);
  while (trainer.step() < trainer.total_steps()) trainer.train_step();
  EXPECT_EQ(trainer.state().P().array("params"),
            train(*make_test_backend(GetParam(), true), small, options, data).P().array("params"));
}

TEST_P(TrainStep, ResumingEqualsNeverStopping) {
  const NetworkSpec spec = network(5, {"6s", "2s+5d"}, 4, Output::bernoulli);
  const DataSet data = small_data(spec, 5);
  for (const bool graph : {false, true}) {
    const auto backend = make_test_backend(GetParam(), graph);
    const TrainOptions options = small_options(Estimator::G1);
    const TrainState whole = train(*backend, spec, options, data);
    TrainState half;
    {
      Trainer trainer(*backend, spec, options, data);
      for (int step = 0; step < 4; ++step) trainer.train_step();
      half = trainer.state();
    }
    Trainer resumed(*backend, spec, options, data);
    resumed.restore(half);
    while (resumed.step() < resumed.total_steps()) resumed.train_step();
    EXPECT_EQ(resumed.state().P().arrays, whole.P().arrays);
  }
}

// A batch that is cut into tiles gives the same step, but for the order of its sums.
TEST_P(TrainStep, TilesAddUp) {
  const NetworkSpec spec = network(5, {"6s", "5s"}, 4, Output::bernoulli);
  const DataSet data = small_data(spec, 6);
  const auto backend = make_test_backend(GetParam(), true);
  TrainOptions options = small_options(Estimator::G3);
  const TrainState whole = train(*backend, spec, options, data);
  options.tiling = {.tile = 3, .parts = 1};
  expect_same(train(*backend, spec, options, data), whole);
}

// Two chunks of particles, the second smaller.
TEST_P(TrainStep, EvaluationIsTheCpus) {
  const auto cpu = make_backend({.device = "cpu", .plain = true, .threads = 1});
  const auto gpu = make_test_backend(GetParam());
  for (const OutputRow& row : kOutputs) {
    SCOPED_TRACE(row.name);
    const NetworkSpec spec = network(5, {"6s", "3s+4d"}, 4, row.id);
    const DataSet data = small_data(spec, 7);
    const auto run = [&](Backend& backend) {
      const Model model(backend, spec, initial_params(spec, 3, 2.0));
      return evaluate(model, data.train, {.particles = 70});
    };
    const Evaluation actual = run(*gpu), expected = run(*cpu);
    expect_close(actual.curve, Vector(expected.curve.begin(), expected.curve.end()), 1e-4, "curve");
    EXPECT_NEAR(actual.nll, expected.nll, 1e-4);
    EXPECT_NEAR(actual.effective_particles, expected.effective_particles, 1e-3);
    EXPECT_EQ(actual.error, expected.error);
    ASSERT_EQ(actual.mean_sse.has_value(), expected.mean_sse.has_value());
    EXPECT_NEAR(actual.mean_sse.value_or(0), expected.mean_sse.value_or(0), 1e-3);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, TrainStep, backends_under_test(),
                         [](const auto& suite) { return std::string(suite.param); });

}  // namespace
}  // namespace sfnn
