// Training by several ranks ends with the tensors of one, bit for bit.
#include <gtest/gtest.h>

#include <limits>

#include "host/backend/cpu/cpu_backend.hpp"
#include "host/train/trainer.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/small_data.hpp"
#include "tests/support/thread_ranks.hpp"
#include "tests/support/train_steps.hpp"

namespace sfnn {
namespace {

struct Case {
  const char* name;
  NetworkSpec spec;
  TrainOptions options;
};

std::vector<Case> cases() {
  const NetworkSpec S = network(7, {"6s", "5s"}, 5, Output::bernoulli);
  const NetworkSpec A = network(7, {"9d", "8d"}, 5, Output::gaussian);
  const NetworkSpec C = network(7, {"6s+4d", "5s+3d"}, 5, Output::softmax);
  const NetworkSpec D = network(7, {"4n+5d", "3n+6d"}, 5, Output::bernoulli);
  // Batches of 22, 22 and 3 of 47 examples: the last has fewer rows than there are ranks.
  TrainOptions base{.seed = 3,
                    .particles = 6,
                    .batch = 22,
                    .epochs = 2,
                    .learning_rate = 0.1,
                    .noise = 0.1,
                    .tiling = {3, 8}};
  const auto with = [&](auto change) {
    TrainOptions options = base;
    change(options);
    return options;
  };
  std::vector<Case> all;
  for (const auto& [name, estimator] : {std::pair("G1", Estimator::G1),
                                        {"G2", Estimator::G2},
                                        {"G3", Estimator::G3},
                                        {"G4", Estimator::G4},
                                        {"G5", Estimator::G5}})
    all.push_back({name, S, with([&](TrainOptions& o) { o.estimator = estimator; })});
  all.push_back({"A", A, base});
  all.push_back({"C", C, base});
  all.push_back({"D", D, base});
  all.push_back({"adam_clip_ema", S, with([](TrainOptions& o) {
                   o.optimizer = OptimizerKind::adam;
                   o.clip_norm = 0.5;
                   o.ema = 0.9;
                 })});
  all.push_back({"proposal", S, with([](TrainOptions& o) { o.proposal.on = true; })});
  return all;
}

class RanksTraining : public testing::TestWithParam<Case> {
 protected:
  const Case& case_ = GetParam();
  DataSet data_ = small_data(47, case_.spec.D_in, case_.spec.D_out, case_.spec.output);

  TrainState trained_alone() {
    CpuBackend backend(1);
    Trainer trainer(backend, case_.spec, case_.options, data_);
    return train(trainer, trainer.total_steps());
  }
};

TEST_P(RanksTraining, SameBitsForAnyNumberOfRanksAndThreads) {
  const TrainState expected = trained_alone();
  for (const int ranks : {2, 3, 4, 8}) {
    on_ranks(ranks, [&](ThreadRanks& own) {
      CpuBackend backend(1 + own.rank() % 2);
      Trainer trainer(backend, case_.spec, case_.options, data_, own);
      EXPECT_TRUE(train(trainer, trainer.total_steps()) == expected)
          << "rank " << own.rank() << " of " << ranks;
    });
  }
}

// Stopped on 4 ranks, continued on 3.
TEST_P(RanksTraining, AStateDoesNotKnowHowManyRanksThereWere) {
  const TrainState expected = trained_alone();
  TrainState saved;
  on_ranks(4, [&](ThreadRanks& own) {
    CpuBackend backend(1);
    Trainer trainer(backend, case_.spec, case_.options, data_, own);
    const TrainState state = train(trainer, 2);
    if (own.rank() == 2) saved = state;
  });
  on_ranks(3, [&](ThreadRanks& own) {
    CpuBackend backend(1);
    Trainer trainer(backend, case_.spec, case_.options, data_, own);
    trainer.restore(saved);
    EXPECT_TRUE(train(trainer, trainer.total_steps()) == expected) << "rank " << own.rank();
  });
}

INSTANTIATE_TEST_SUITE_P(Cases, RanksTraining, testing::ValuesIn(cases()),
                         [](const auto& tested) { return std::string(tested.param.name); });

class TwoRanks : public testing::Test {
 protected:
  NetworkSpec spec_ = network(7, {"6s", "5s"}, 5, Output::bernoulli);
  TrainOptions options_{.particles = 6, .batch = 22, .epochs = 2, .tiling = {3, 8}};
  DataSet data_ = small_data(47, 7, 5, Output::bernoulli);
};

TEST_F(TwoRanks, TakeTheMemoryThatWasPlanned) {
  on_ranks(2, [&](ThreadRanks& own) {
    CpuBackend backend(1);
    const TrainPlan plan = plan_training(backend, spec_, options_, data_, own);
    Trainer trainer(backend, spec_, options_, data_, own);
    EXPECT_EQ(trainer.workspace_bytes(), plan.workspace_bytes);
    EXPECT_EQ(plan.own_parts(), 4);
  });
}

TEST_F(TwoRanks, StopAtTheSameStepIfOneWants) {
  on_ranks(2, [&](ThreadRanks& own) {
    CpuBackend backend(1);
    Trainer trainer(backend, spec_, options_, data_, own);
    EXPECT_FALSE(trainer.train_step());
    EXPECT_TRUE(trainer.train_step(/*wants_stop=*/own.rank() == 1));
  });
}

TEST_F(TwoRanks, NameWhatIsNotFiniteAlike) {
  std::vector<std::string> found(2);
  on_ranks(2, [&](ThreadRanks& own) {
    CpuBackend backend(1);
    Trainer trainer(backend, spec_, options_, data_, own);
    std::vector<float> params = trainer.state().P().params();
    params[std::size_t(ParamLayout(spec_).c.offset)] = std::numeric_limits<float>::quiet_NaN();
    trainer.set_params(params);
    trainer.train_step();
    found[std::size_t(own.rank())] = trainer.not_finite().value_or("nothing");
  });
  EXPECT_NE(found[0].find("no longer finite: C_hat"), std::string::npos) << found[0];
  EXPECT_EQ(found[0], found[1]);
}

// A rank that is lost in the exchange leaves the state of the step before.
TEST_F(TwoRanks, ALostRankLeavesTheStateOfTheStepBefore) {
  struct Lost final : Ranks {
    int rank() const override { return 0; }
    int count() const override { return 2; }
    void exchange(std::span<const Outgoing>, std::span<const Incoming>) override {
      throw std::runtime_error("lost");
    }
  };
  Lost lost;
  CpuBackend backend(1);
  Trainer whole(backend, spec_, options_, data_);
  for (const std::int64_t steps : {1, 3}) {  // within an epoch, and at its end
    const TrainState before = train(whole, steps);
    Trainer trainer(backend, spec_, options_, data_, lost);
    trainer.restore(before);
    EXPECT_THROW(trainer.train_step(), std::runtime_error);
    EXPECT_TRUE(trainer.state() == before);
  }
}

TEST_F(TwoRanks, MoreRanksThanPartsAreRefusedByTheKey) {
  struct Nine final : Ranks {
    int rank() const override { return 8; }
    int count() const override { return 9; }
    void exchange(std::span<const Outgoing>, std::span<const Incoming>) override {}
  };
  CpuBackend backend(1);
  try {
    plan_training(backend, spec_, options_, data_, Nine());
    FAIL() << "not refused";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("train.parts = 8: 9 ranks"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace sfnn
