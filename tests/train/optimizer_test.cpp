// The optimiser and the networks of a step.
#include "host/train/optimizer.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "host/train/state_arrays.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/networks.hpp"

namespace sfnn {
namespace {

std::vector<float> downloaded(const Buffer& buffer) {
  return {buffer.floats(), buffer.floats() + buffer.bytes() / sizeof(float)};
}

class TwoNetworks : public testing::Test {
 protected:
  TwoNetworks() {
    networks_.add("R", Model(*backend_, R_, initial_params(R_, 2)), row_of(Estimator::G3));
  }
  std::int64_t size(const NetworkSpec& spec) const { return ParamLayout(spec).size; }

  const std::unique_ptr<Backend> backend_ = make_backend({.device = "cpu", .threads = 1});
  const NetworkSpec P_ = network(5, {"4s", "2s+3d"}, 3, Output::bernoulli);
  const NetworkSpec R_ = network(8, {"6d"}, 6, Output::bernoulli);
  StepNetworks networks_{Model(*backend_, P_, initial_params(P_, 1)), row_of(Estimator::G1)};
};

TEST_F(TwoNetworks, LieInAPartOneAfterAnother) {
  const PartLayout P(P_, Estimator::G1), R(R_, Estimator::G3);
  EXPECT_GT(P.baseline_size, 0);
  EXPECT_EQ(networks_.part_size(), P.size() + R.size());
  EXPECT_EQ(networks_.P().offset, 0);
  EXPECT_EQ(std::next(networks_.begin())->offset, P.size());
}

TEST_F(TwoNetworks, AreBothMovedByTheirOwnGradient) {
  const TrainOptions options{.hidden_rate = 0.5, .momentum = 0.5};
  Optimizer optimizer(networks_, options);
  const std::int64_t N = 10;
  std::vector<float> part(networks_.part_size());
  for (std::size_t i = 0; i < part.size(); ++i) part[i] = std::sin(float(i));
  backend_->set_clock({.learning_rate = 0.1f});
  for (int step = 0; step < 2; ++step)
    optimizer.enqueue({part.data(), 1, networks_.part_size(), 1}, N);
  for (const StepNetworks::Network& network : networks_) {
    const bool is_P = network.name == "P";
    const std::vector<float> start = initial_params(network.model.spec(), is_P ? 1 : 2);
    const std::vector<float> moved = network.model.download_params();
    const std::vector<float> velocity = downloaded(*optimizer.array(network.name, "velocity"));
    for (const ParamSlot& slot : network.model.layout().slots()) {
      const float rate = slot.group == ParamGroup::output ? 1.0f : 0.5f;
      for (std::int64_t i = slot.offset; i < slot.offset + slot.size(); ++i) {
        const float g = rate * part[network.offset + i] / float(N);
        // v_1 = g, v_2 = 1.5 g; 0.1 of both.
        ASSERT_NEAR(velocity[i], 1.5f * g, 1e-6f) << network.name << ' ' << slot.name;
        ASSERT_NEAR(moved[i] - start[i], 0.25f * g, 1e-6f) << network.name << ' ' << slot.name;
      }
    }
  }
  EXPECT_EQ(optimizer.array("P", "m"), nullptr);
  EXPECT_EQ(optimizer.array("Q", "velocity"), nullptr);
}

TEST(StateArrays, ListWhatARowAndANetworkKeep) {
  const NetworkSpec spec = network(5, {"4s", "2n+3d"}, 3, Output::bernoulli);
  const auto names = [&](Estimator estimator) {
    std::string text;
    for (const ArraySpec& array : state_arrays(spec, row_of(estimator), kOptimizers[0]))
      text += array.name + (array.by_slot ? " " : "* ");
    return text;
  };
  EXPECT_EQ(names(Estimator::G1), "params velocity baseline* ");
  EXPECT_EQ(names(Estimator::G3), "params velocity ");
  EXPECT_EQ(state_arrays(spec, row_of(Estimator::G1), kOptimizers[0]).back().size, 2 * 4);
}

// A name is a prefix of tensors in checkpoints, where the plain ones belong to the parameters.
TEST(Optimizers, HaveNamesForTheirArrays) {
  for (const OptimizerRow& row : kOptimizers) {
    EXPECT_EQ(row_of(row.id).name, row.name);
    EXPECT_GE(row.arrays(), 1);
    for (int a = 0; a < row.arrays(); ++a) {
      EXPECT_NE(row.array_names[a], kParams);
      EXPECT_NE(row.array_names[a], kBaseline);
      EXPECT_EQ(row.array_names[a].find_first_of("/:"), std::string_view::npos);
    }
  }
}

}  // namespace
}  // namespace sfnn
