// The loop around the pass: determinism, resume, the update itself.
#include "host/train/trainer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "host/backend/plain/plain_backend.hpp"
#include "host/base/error.hpp"
#include "host/devices/registry.hpp"
#include "kernels/gather.hpp"
#include "kernels/philox.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/count_allocations.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/reference_optimizer.hpp"
#include "tests/support/small_data.hpp"
#include "tests/support/threads.hpp"
#include "tests/support/train_steps.hpp"

namespace sfnn {
namespace {

std::unique_ptr<Backend> cpu(int threads = test_threads(1), bool plain = false) {
  return make_backend({.device = "cpu", .plain = plain, .threads = threads});
}

// The order in which an epoch visits the examples.
std::vector<std::int32_t> epoch_order(std::uint64_t seed, std::uint32_t epoch, std::int64_t count) {
  std::vector<std::int32_t> order(count);
  cpu()->shuffle({{seed, epoch, kSitePermutation}, count, order.data()});
  return order;
}

struct Case {
  const char* name;
  NetworkSpec spec;
  TrainOptions options;
};

std::vector<Case> cases() {
  const TrainOptions options{
      .seed = 3, .particles = 5, .batch = 16, .epochs = 3, .learning_rate = 0.05, .tiling = {3, 4}};
  const auto with = [&](Estimator e, double noise = 0) {
    TrainOptions changed = options;
    changed.estimator = e;
    changed.noise = noise;
    return changed;
  };
  TrainOptions slow_hidden = with(Estimator::G1);
  slow_hidden.hidden_rate = 0.2;
  TrainOptions vimco_0 = with(Estimator::vimco), cool = with(Estimator::st_gumbel);
  vimco_0.c = 0;
  cool.temperature = 0.6;
  const auto by = [&](OptimizerKind kind, ScheduleKind schedule) {
    TrainOptions changed = options;
    changed.optimizer = kind;
    changed.schedule = schedule;
    changed.weight_decay = 0.02;
    changed.learning_rate = row_of(kind).is_adam() ? 0.01 : 0.05;
    return changed;
  };
  TrainOptions nesterov = by(OptimizerKind::nesterov, ScheduleKind::constant),
               adam = by(OptimizerKind::adam, ScheduleKind::cosine),
               adamw = by(OptimizerKind::adamw, ScheduleKind::steps);
  nesterov.warmup_steps = 3;
  nesterov.ema = 0.9;
  adam.clip_norm = 0.5;
  adam.warmup_epochs = 0.5;
  adam.hidden_rate = 0.5;
  adamw.step_epochs = {0.5, 1.25};
  adamw.ema = 0.8;
  adamw.decay_biases = true;
  return {{"g1", network(7, {"9s", "6s"}, 5, Output::bernoulli), with(Estimator::G1)},
          {"g2", network(7, {"9s", "6s"}, 5, Output::bernoulli), with(Estimator::G2)},
          {"g3", network(7, {"70s", "33s"}, 5, Output::softmax), with(Estimator::G3, 0.4)},
          {"g4", network(7, {"9s", "6s"}, 5, Output::gaussian), with(Estimator::G4)},
          {"g5", network(7, {"9s", "6s"}, 5, Output::bernoulli), with(Estimator::G5)},
          {"a", network(7, {"9d", "6d"}, 5, Output::bernoulli), with(Estimator::G3)},
          {"c", network(7, {"4s+9d", "4s+6d"}, 5, Output::bernoulli), with(Estimator::G4)},
          {"d", network(7, {"4n+9d", "4n+6d"}, 5, Output::bernoulli), with(Estimator::G3)},
          {"vimco", network(7, {"9s", "4s+6tanh"}, 5, Output::bernoulli), with(Estimator::vimco)},
          {"vimco_0", network(7, {"9s", "6s"}, 5, Output::bernoulli), vimco_0},
          {"vimco_geometric", network(7, {"9s", "6s"}, 5, Output::gaussian),
           with(Estimator::vimco_geometric)},
          {"rloo", network(7, {"9s", "4s+6d"}, 5, Output::bernoulli), with(Estimator::rloo)},
          {"darn", network(7, {"9s", "4s+6relu"}, 5, Output::bernoulli), with(Estimator::darn)},
          {"st_gumbel", network(7, {"9s", "6s"}, 5, Output::bernoulli), cool},
          {"a_relu", network(7, {"9relu", "6tanh"}, 5, Output::bernoulli), with(Estimator::G3)},
          {"d_relu", network(7, {"4n+9relu"}, 5, Output::bernoulli), with(Estimator::G3)},
          {"hidden_rate", network(7, {"4s+9d", "6s"}, 5, Output::bernoulli), slow_hidden},
          {"nesterov", network(7, {"9s", "6s"}, 5, Output::bernoulli), nesterov},
          {"adam", network(7, {"4s+9d", "6s"}, 5, Output::softmax), adam},
          {"adamw", network(7, {"9d", "6d"}, 5, Output::gaussian), adamw},
          {"learnt", network(7, {"9s"}, 5, Output::gaussian_learnt), with(Estimator::G5)},
          {"learnt_each", network(7, {"9s"}, 5, Output::gaussian_each), with(Estimator::G3)},
          {"predicted", network(7, {"9s"}, 5, Output::gaussian_predicted), with(Estimator::G4)},
          {"poisson", network(7, {"9s"}, 5, Output::poisson), with(Estimator::G3)}};
}

// Values in [0, 1], to be drawn as bits.
void grey(Columns& columns) {
  for (float& value : std::get<std::vector<float>>(columns.values))
    value = 1 / (1 + std::exp(-value));
}

class TrainerCases : public testing::TestWithParam<int> {
 protected:
  Case case_ = cases()[GetParam()];
  DataSet data_ =
      small_data(50, 7, 5, case_.spec.output);  // 16 + 16 + 16 + 2: the last batch is smaller
};

void expect_same(const TrainState& a, const TrainState& b) {
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.P().array("params"), b.P().array("params"));
  EXPECT_EQ(a.P().arrays, b.P().arrays);
  EXPECT_EQ(a.c_hat_sum, b.c_hat_sum);
  EXPECT_EQ(a.effective_particles_sum, b.effective_particles_sum);
  EXPECT_EQ(a.gradient_norm_sum, b.gradient_norm_sum);
  EXPECT_EQ(a.clipped_steps, b.clipped_steps);
}

TEST_P(TrainerCases, SameBitsForAnyNumberOfThreads) {
  const auto one = cpu(1);
  Trainer trainer(*one, case_.spec, case_.options, data_);
  const TrainState expected = train(trainer, trainer.total_steps());
  for (int threads : {2, 8}) {
    const auto several = cpu(threads);
    Trainer other(*several, case_.spec, case_.options, data_);
    expect_same(train(other, other.total_steps()), expected);
  }
}

TEST_P(TrainerCases, ResumeEqualsNeverStopping) {
  const auto backend = cpu();
  Trainer whole(*backend, case_.spec, case_.options, data_);
  const TrainState expected = train(whole, whole.total_steps());
  for (std::int64_t stop :
       {1, 4, 6}) {  // inside the first epoch, between epochs, inside the second
    Trainer first(*backend, case_.spec, case_.options, data_);
    const TrainState saved = train(first, stop);
    Trainer second(*backend, case_.spec, case_.options, data_);
    second.restore(saved);
    expect_same(train(second, second.total_steps()), expected);
  }
}

TEST_P(TrainerCases, AnotherSeedGivesOtherWeights) {
  const auto backend = cpu();
  Trainer trainer(*backend, case_.spec, case_.options, data_);
  TrainOptions options = case_.options;
  ++options.seed;
  Trainer other(*backend, case_.spec, options, data_);
  EXPECT_NE(train(trainer, 3).P().array("params"), train(other, 3).P().array("params"));
}

TEST_P(TrainerCases, AStepAllocatesNothing) {
  const auto backend = cpu(2);
  Trainer trainer(*backend, case_.spec, case_.options, data_);
  train(trainer, trainer.steps_per_epoch() + 1);  // scratch has grown, the epoch's order is drawn
  const int allocations = count_allocations([&] {
    trainer.train_step();
    trainer.train_step();
    trainer.train_step();  // the smaller batch
  });
  EXPECT_EQ(allocations, 0);
  EXPECT_GT(count_allocations([] { std::vector<int> counted(100); }), 0)
      << "the count itself is broken";
}

// What the network is to see of an example at a step: drawn as bits or not, in its units, with
// noise.
double seen_x(const DataSet& data, const TrainOptions& options, std::uint32_t step,
              std::int64_t row, std::int64_t i) {
  double value = data.train.x.at(row, i);
  if (data.binarize_train) {
    value =
        uniform({options.data_seed, step, kSiteBinarizeInput}, std::uint32_t(row), 0, i) <= value;
  }
  if (!data.units.x_mean.empty()) value -= data.units.x_mean[i];
  if (!data.units.x_scale.empty()) value /= data.units.x_scale[i];
  return value +
         options.noise * normal_at({options.seed, step, kSiteInputNoise}, std::uint32_t(row), i);
}

double seen_y(const DataSet& data, const TrainOptions& options, std::uint32_t step,
              std::int64_t row, std::int64_t i) {
  double value = data.train.y.at(row, i);
  if (!data.units.y_mean.empty())
    value = (value - data.units.y_mean[i]) / double(data.units.y_scale[i]);
  if (!data.binarize_train) return value;
  return uniform({options.data_seed, step, kSiteBinarizeTarget}, std::uint32_t(row), 0, i) <= value;
}

// Two whole epochs, against the reference: the order of examples, the smaller last batch, what the
// network sees of the data, draws, gradients, their average over the batch, momentum, the rates,
// G1's averages.
TEST_P(TrainerCases, TwoEpochsFollowTheReference) {
  data_.units = {.x_mean = std::vector<float>(7, 0.25f), .x_scale = std::vector<float>(7, 1.5f)};
  if (data_.output == Output::gaussian) {
    data_.units.y_mean.assign(5, -0.5f);
    data_.units.y_scale.assign(5, 0.75f);
  }
  NetworkSpec seen = case_.spec;
  if (seen.output == Output::gaussian) seen.sigma /= 0.75;  // given in the targets' own units
  if (case_.spec.output == Output::bernoulli)
    grey(data_.train.x), grey(data_.train.y), data_.binarize_train = true;
  case_.options.data_seed = 77;
  const auto backend = cpu();
  Trainer trainer(*backend, case_.spec, case_.options, data_);
  Vector params = to_double(trainer.state().P().array("params"));
  ReferenceOptimizer optimizer(case_.spec, case_.options);
  const std::int64_t M = trainer.particles(), D_y = data_.train.y.cols,
                     per_epoch = trainer.steps_per_epoch();
  ReferenceEstimator estimator{.id = case_.options.estimator,
                               .c = case_.options.c,
                               .T = case_.options.temperature,
                               .seed = case_.options.seed};
  std::vector<Vector> score2(case_.spec.depth()), score2_L(case_.spec.depth());
  for (std::int64_t step = 0; step < 2 * per_epoch; ++step) {
    const auto order =
        epoch_order(case_.options.seed, std::uint32_t(step / per_epoch), data_.train.count);
    const std::int64_t first = step % per_epoch * case_.options.batch;
    const std::int64_t N = std::min(case_.options.batch, data_.train.count - first);
    ReferenceBatch batch{.N = N, .M = M};
    for (std::int64_t n = 0; n < N; ++n) {
      const std::int64_t row = order[first + n];
      for (std::int64_t i = 0; i < case_.spec.D_in; ++i) {
        batch.x.push_back(seen_x(data_, case_.options, std::uint32_t(step), row, i));
      }
      for (std::int64_t i = 0; i < D_y; ++i) {
        batch.y.push_back(seen_y(data_, case_.options, std::uint32_t(step), row, i));
      }
    }
    batch.bits = reference_draws(seen, params, batch, case_.options.seed, std::uint32_t(step));
    estimator.step = std::uint32_t(step);
    const ReferenceResult result = reference_pass(seen, params, batch, estimator);
    if (step % per_epoch == 0) optimizer.norms = optimizer.clipped = 0;
    Vector mean = result.gradient;
    for (double& g : mean) g /= double(N);
    optimizer.step(params, mean, step,
                   reference_rate(case_.options, double(step), double(per_epoch)));
    // L_bar of the next step; the first step starts the averages, later ones move them.
    estimator.L_bar.assign(case_.spec.depth(), {});
    for (std::int64_t l = 0; l < case_.spec.depth(); ++l) {
      score2[l].resize(result.score2[l].size());
      score2_L[l].resize(result.score2[l].size());
      for (std::size_t i = 0; i < score2[l].size(); ++i) {
        const double keep = step == 0 ? 0 : case_.options.baseline_decay;
        score2[l][i] = keep * score2[l][i] + (1 - keep) * result.score2[l][i] / double(N * M);
        score2_L[l][i] =
            keep * score2_L[l][i] + (1 - keep) * result.score2_C_hat[l][i] / double(N * M);
        estimator.L_bar[l].push_back(score2_L[l][i] / score2[l][i]);
      }
    }
    trainer.train_step();
  }
  const TrainState state = trainer.state();
  expect_close(state.P().array("params"), params, 1e-4, "params");
  if (case_.options.ema > 0)
    expect_close(state.P().array("average"), optimizer.average, 1e-4, "average");
  EXPECT_NEAR(state.gradient_norm_sum, optimizer.norms, 1e-4 * optimizer.norms);
  EXPECT_EQ(state.clipped_steps, optimizer.clipped);
}

TEST_P(TrainerCases, TheCpuPathFollowsThePlainOne) {
  const auto fast = cpu(), plain = cpu(1, /*plain=*/true);
  Trainer a(*fast, case_.spec, case_.options, data_), b(*plain, case_.spec, case_.options, data_);
  // Three steps: a last-bit difference in sigma(a) may flip a draw sooner or later.
  expect_close(train(a, 3).P().array("params"), to_double(train(b, 3).P().array("params")), 2e-5,
               "params");
}

INSTANTIATE_TEST_SUITE_P(Cases, TrainerCases, testing::Range(0, int(cases().size())),
                         [](const auto& suite) { return std::string(cases()[suite.param].name); });

TEST(Trainer, LearnsAMappingThatCanBeLearnt) {
  const auto backend = cpu(2);
  const DataSet data = small_data(400, 6, 6, Output::bernoulli);
  Trainer trainer(*backend, network(6, {"30s"}, 6, Output::bernoulli),
                  {.particles = 10, .batch = 20, .epochs = 20, .learning_rate = 0.3}, data);
  train(trainer, trainer.steps_per_epoch());
  const double before = trainer.epoch_means().C_hat;
  train(trainer, trainer.total_steps());
  EXPECT_GT(trainer.epoch_means().C_hat, -1.5);
  EXPECT_LT(before, -2.5);
}

// A model says at which sites its layers draw.
TEST(Trainer, DrawsAtTheSitesOfItsModel) {
  const auto backend = cpu();
  const NetworkSpec spec = network(7, {"9s", "6s"}, 5, Output::bernoulli);
  const DataSet data = small_data(50, 7, 5, Output::bernoulli);
  const TrainOptions options{.particles = 3, .batch = 10, .epochs = 1};
  const auto trained = [&](std::uint32_t first_site) {
    const TrainPlan plan = plan_training(*backend, spec, options, data);
    Model model(*backend, spec, initial_params(spec, 1), data.units, first_site);
    Trainer trainer(plan, std::move(model), options, data);
    return train(trainer, 3).P().array("params");
  };
  EXPECT_EQ(trained(7), trained(7));
  EXPECT_NE(trained(7), trained(0));
}

// Other than that an idle particle is dropped, a step must not show the threshold: it is the one
// asked for, and by default so low that all who are dropped weigh 1e-6 together.
TEST(Trainer, DropsBelowWhatIsAskedFor) {
  const auto backend = cpu();
  const NetworkSpec spec = network(7, {"9s"}, 5, Output::bernoulli);
  const DataSet data = small_data(50, 7, 5, Output::bernoulli);
  const auto threshold = [&](const TrainOptions& options) {
    return plan_training(*backend, spec, options, data).pass.drop_below;
  };
  EXPECT_FLOAT_EQ(threshold({.particles = 20}), 1e-6f / 20);
  EXPECT_FLOAT_EQ(threshold({.particles = 1000}), 1e-9f);
  EXPECT_FLOAT_EQ(threshold({.particles = 20, .drop_below = 0.01}), 0.01f);
  EXPECT_EQ(threshold({.particles = 20, .drop_below = 0.0}), 0.0f);
}

// Whole runs of the fast path, which drops particles, and of the plain one, which keeps all: a draw
// flips at a tie now and then, so that weights differ, but not what is learnt. The bound is 4
// standard errors of the difference of two means, by the spread of each path's own seeds.
TEST(Trainer, FastAndPlainRunsLearnTheSame) {
  const DataSet data = small_data(400, 6, 40, Output::bernoulli);
  const NetworkSpec spec = network(6, {"40s", "30s"}, 40, Output::bernoulli);
  constexpr int kSeeds = 6;
  double mean[2] = {}, variance = 0, first_epoch = 0;
  for (const bool plain : {false, true}) {
    const auto backend = cpu(test_threads(1), plain);
    double squares = 0;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      TrainOptions options{
          .seed = seed, .particles = 10, .batch = 20, .epochs = 15, .learning_rate = 0.1};
      if (plain) options.drop_below = 0;
      Trainer trainer(*backend, spec, options, data);
      train(trainer, trainer.steps_per_epoch());
      first_epoch = trainer.epoch_means().C_hat;
      train(trainer, trainer.total_steps());
      const double C_hat = trainer.epoch_means().C_hat;
      mean[plain] += C_hat / kSeeds;
      squares += C_hat * C_hat / kSeeds;
    }
    variance += (squares - mean[plain] * mean[plain]) / (kSeeds - 1);  // of this mean
  }
  EXPECT_GT(mean[0], first_epoch + 1) << "the runs learn nothing";
  EXPECT_LE(std::abs(mean[0] - mean[1]), 4 * std::sqrt(variance)) << mean[0] << " and " << mean[1];
}

TEST(Trainer, VisitsEveryExampleOnceAnEpochInNewOrder) {
  const auto first = epoch_order(5, 0, 101), again = epoch_order(5, 0, 101);
  auto second = epoch_order(5, 1, 101);
  EXPECT_EQ(first, again);
  EXPECT_NE(first, second);
  std::sort(second.begin(), second.end());
  for (std::int32_t i = 0; i < 101; ++i) EXPECT_EQ(second[i], i);
}

TEST(Trainer, RefusesWhatTeachesNothing) {
  const NetworkSpec stochastic = network(7, {"9s"}, 5, Output::bernoulli);
  const NetworkSpec noise = network(7, {"4n+9d"}, 5, Output::bernoulli);
  for (Estimator e : {Estimator::G4, Estimator::G5, Estimator::vimco, Estimator::vimco_geometric,
                      Estimator::rloo}) {
    EXPECT_THROW(validate({.estimator = e, .particles = 1}, stochastic), ConfigError);
    EXPECT_NO_THROW(validate({.estimator = e, .particles = 2}, stochastic));
    EXPECT_NO_THROW(
        validate({.estimator = e, .particles = 1}, noise));  // no trainable stochastic units
  }
  for (Estimator e :
       {Estimator::G1, Estimator::G2, Estimator::G3, Estimator::darn, Estimator::st_gumbel}) {
    EXPECT_NO_THROW(validate({.estimator = e, .particles = 1}, stochastic));
  }
}

TEST(Trainer, AWorkersExceptionReachesTheCallerWithItsMessage) {
  struct Breaks : PlainBackend {
    using PlainBackend::PlainBackend;
    void run(const GatherArgs& args) override {
      if (clock().step == 2 && args.tile.first == 9) throw DataError("example 9 has gone");
      PlainBackend::run(args);
    }
  };
  Breaks backend(8);
  const DataSet data = small_data(30, 7, 5, Output::bernoulli);
  Trainer trainer(backend, network(7, {"3s"}, 5, Output::bernoulli),
                  {.batch = 10, .tiling = {1, 8}}, data);
  try {
    train(trainer, 10);
    FAIL() << "nothing was thrown";
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(), "example 9 has gone");
  }
  EXPECT_EQ(trainer.step(), 2);
}

TEST(Trainer, StateOfAnotherNetworkIsRefused) {
  const auto backend = cpu();
  const DataSet data = small_data(20, 7, 5, Output::bernoulli);
  Trainer small(*backend, network(7, {"3s"}, 5, Output::bernoulli), {.batch = 10}, data);
  Trainer large(*backend, network(7, {"9s"}, 5, Output::bernoulli), {.batch = 10}, data);
  EXPECT_THROW(large.restore(small.state()), DataError);
}

TEST(TrainPlan, IsWhatTheTrainerTakes) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const auto backend = cpu(2);
    const DataSet data = small_data(50, c.spec.D_in, c.spec.D_out, c.spec.output);
    const TrainPlan plan = plan_training(*backend, c.spec, c.options, data);
    Trainer trainer(*backend, c.spec, c.options, data);
    EXPECT_EQ(plan.workspace_bytes, trainer.workspace_bytes());
    EXPECT_EQ(plan.data_bytes, 0u);  // the CPU reads the examples where they are
    EXPECT_EQ(plan.schedule.total_steps, trainer.total_steps());
  }
}

}  // namespace
}  // namespace sfnn
