// Numbers that have gone bad, and units that are no longer random: what is said of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "host/devices/registry.hpp"
#include "host/train/finite.hpp"
#include "host/train/health.hpp"
#include "host/train/trainer.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/small_data.hpp"
#include "tests/support/train_steps.hpp"

namespace sfnn {
namespace {

class NotFinite : public testing::Test {
 protected:
  // After two good steps, the state with one number changed and one step more.
  std::string found(const char* array, const std::string& tensor, float value,
                    std::optional<double> drop_below = {}) {
    Trainer trainer(*backend_, spec_,
                    {.particles = 3, .batch = 10, .learning_rate = 0.1, .drop_below = drop_below},
                    data_);
    TrainState state = train(trainer, 2);
    EXPECT_EQ(trainer.not_finite(), std::nullopt);
    NetworkState& P = state.P();
    std::vector<float>& values = P.array(array);
    for (const ParamSlot& slot : ParamLayout(spec_).slots())
      if (slot.name == tensor) values[slot.offset] = value;
    trainer.restore(state);
    trainer.train_step();
    return trainer.not_finite(trainer.state()).value_or("nothing");
  }

  const NetworkSpec spec_ = network(7, {"9s", "6s"}, 5, Output::gaussian);
  const DataSet data_ = small_data(50, 7, 5, Output::gaussian);
  const std::unique_ptr<Backend> backend_ = make_backend({.device = "cpu", .threads = 2});
};

constexpr float kInf = std::numeric_limits<float>::infinity();

// An update that overflows: C_hat of its step was still good, and so were the gradients.
TEST_F(NotFinite, NamesTheStepAndTheTensor) {
  for (const char* tensor : {"layer1.W_s", "layer2.b_s", "V"}) {
    EXPECT_EQ(found("velocity", tensor, 1e38f * 3.4f),
              "nothing");  // finite still, in the weights
    EXPECT_EQ(found("velocity", tensor, kInf),
              "step 3: no longer finite: the weight of " + std::string(tensor));
  }
}

// Particles whose weight is NaN skip the backward pass: without a check of C_hat the run would
// continue with fewer and fewer examples.
TEST_F(NotFinite, ABadCriterionIsSeenThoughTheWeightsAreStillGood) {
  EXPECT_EQ(found("params", "c", 1e30f), "step 3: no longer finite: C_hat");
  EXPECT_EQ(found("params", "c", std::nanf("")),
            "step 3: no longer finite: C_hat; the weight of c");
}

// If none skips it, everything goes bad in the same step.
TEST_F(NotFinite, NamesTheCriterionFirst) {
  EXPECT_EQ(found("params", "c", 1e30f, /*drop_below=*/0),
            "step 3: no longer finite: C_hat; every gradient (layer1.W_s to c); every weight "
            "(layer1.W_s to c)");
}

// The quick look does not read the weights, and sees what they do to the next step.
TEST_F(NotFinite, AQuickLookSeesABadWeightAStepLater) {
  Trainer trainer(*backend_, spec_, {.particles = 3, .batch = 10, .learning_rate = 0.1}, data_);
  TrainState state = train(trainer, 2);
  state.P().array("velocity")[ParamLayout(spec_).c.offset] = kInf;
  trainer.restore(state);
  trainer.train_step();
  EXPECT_EQ(trainer.not_finite(), std::nullopt);
  trainer.train_step();
  EXPECT_EQ(trainer.not_finite(),
            "step 4: no longer finite: C_hat; the weight of c, last seen finite after step 2");
}

// An infinite bias saturates its unit and leaves C_hat as it is: the steps since the weights were
// last looked at are named, not the one at which they happened to be looked at again.
TEST_F(NotFinite, AWeightThatNoQuickLookSeesIsDatedByThoroughOnes) {
  Trainer trainer(*backend_, spec_, {.particles = 3, .batch = 10, .learning_rate = 0.1}, data_);
  TrainState state = train(trainer, 2);
  for (const ParamSlot& slot : ParamLayout(spec_).slots()) {
    if (slot.name == "layer2.b_s") state.P().array("velocity")[slot.offset] = kInf;
  }
  trainer.restore(state);
  while (trainer.step() < 6) {
    trainer.train_step();
    EXPECT_EQ(trainer.not_finite(), std::nullopt);
  }
  EXPECT_EQ(trainer.not_finite(trainer.state()),
            "step 3 to 6: no longer finite: the weight of layer2.b_s");
}

TEST_F(NotFinite, LateLooksSaySo) {
  Trainer trainer(*backend_, spec_, {.particles = 3, .batch = 10, .learning_rate = 1e30}, data_);
  train(trainer, 7);
  EXPECT_THAT(trainer.not_finite().value_or("nothing"),
              testing::StartsWith("step 1 to 7: no longer finite: C_hat"));
}

TEST(Finite, EveryPlaceCounts) {
  for (std::size_t size : {1, 7, 64, 1000}) {
    std::vector<float> values(size, -3.4e38f);
    EXPECT_TRUE(all_finite(values));
    for (std::size_t i = 0; i < size; i += 1 + size / 17) {
      for (const float bad : {kInf, -kInf, std::nanf("")}) {
        values[i] = bad;
        EXPECT_FALSE(all_finite(values)) << i;
      }
      values[i] = 1e-45f;
    }
  }
  EXPECT_TRUE(all_finite({}));
}

TEST(Health, WarnsOfWhatIsNoLongerRandom) {
  using testing::ElementsAre;
  using testing::HasSubstr;
  const LayerActivity fine{.layer = 1, .units = 4, .decided = 0.9, .stuck = 0.5};
  const LayerActivity decided{.layer = 2, .units = 4, .decided = 1, .stuck = 0.25};
  const LayerActivity stuck{.layer = 3, .units = 4, .decided = 0.7, .stuck = 0.75};
  EXPECT_THAT(health_warnings(std::vector{fine}, 1.2, 20), testing::IsEmpty());
  EXPECT_THAT(health_warnings(std::vector{fine, decided, stuck}, 1.0001, 20),
              ElementsAre(HasSubstr("layer 2: all units have become deterministic"),
                          HasSubstr("layer 3: most units are saturated"),
                          HasSubstr("one of 20 has all the weight")));
  EXPECT_THAT(health_warnings({}, 1, 1), testing::IsEmpty()) << "with M = 1 it always is 1";
}

}  // namespace
}  // namespace sfnn
