// The optimiser and the networks of a step.
#include "host/train/optimizer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "host/train/state_arrays.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/networks.hpp"

namespace sfnn {
namespace {

template <class T = float>
std::vector<T> downloaded(Backend& backend, const Buffer& buffer) {
  std::vector<T> values(buffer.bytes() / sizeof(T));
  backend.download(buffer.data(), std::as_writable_bytes(std::span(values)));
  return values;
}

// --- against PyTorch -----------------------------------------------------------------------------

using nlohmann::json;

TrainOptions options_of(const json& settings) {
  TrainOptions options{.learning_rate = settings.at("learning_rate")};
  for (const OptimizerRow& row : kOptimizers)
    if (row.name == settings.at("optimizer").get<std::string>()) options.optimizer = row.id;
  options.weight_decay = settings.value("weight_decay", options.weight_decay);
  options.hidden_rate = settings.value("hidden_rate", options.hidden_rate);
  options.clip_norm = settings.value("clip_norm", options.clip_norm);
  options.momentum = settings.value("momentum", options.momentum);
  options.beta1 = settings.value("beta1", options.beta1);
  options.beta2 = settings.value("beta2", options.beta2);
  options.epsilon = settings.value("epsilon", options.epsilon);
  return options;
}

// As torch_optimizers.py has them; place counts the parameters without gaps.
float torch_start(std::int64_t place) { return float((place * place * 5 + 3) % 17 - 8) / 16; }
float torch_gradient(std::int64_t step, std::int64_t place) {
  return float((step * 31 + place * 17 + step * step * place) % 211 - 105) / 128;
}

// value(place) for every parameter, where it lies in the flat array.
template <class F>
std::vector<float> laid_out(const ParamLayout& layout, const F& value) {
  std::vector<float> flat(layout.size);
  std::int64_t place = 0;
  for (const ParamSlot& slot : layout.slots())
    for (std::int64_t i = 0; i < slot.size(); ++i) flat[slot.offset + i] = value(place++);
  return flat;
}

class OptimizerOnBackend : public testing::TestWithParam<const char*> {
 protected:
  const std::unique_ptr<Backend> backend_ = make_test_backend(GetParam());
  Buffer sums_{*backend_, 2 * sizeof(double)};

  void step(Optimizer& optimizer, std::int64_t t, double rate, const std::vector<float>& gradient,
            std::int64_t count = 1, std::int64_t N = 1) {
    Buffer parts(*backend_, gradient.size() * sizeof(float));
    backend_->upload(std::as_bytes(std::span(gradient)), parts.data());
    backend_->set_clock(optimizer.rates(t, rate));
    const std::int64_t stride = std::int64_t(gradient.size()) / count;
    optimizer.enqueue({parts.floats(), count, stride, 8}, N,
                      reinterpret_cast<double*>(sums_.data()));
    backend_->synchronize();
  }
};

TEST_P(OptimizerOnBackend, FollowsPyTorchForAHundredSteps) {
  std::ifstream file(SFNN_SOURCE_DIR "/tests/train/torch_optimizers.json");
  const json fixture = json::parse(file);
  std::set<OptimizerKind> seen;
  for (const json& c : fixture.at("cases")) {
    SCOPED_TRACE(c.at("settings").dump());
    const TrainOptions options = options_of(c.at("settings"));
    seen.insert(options.optimizer);
    const NetworkSpec spec = network(2, {"3s"}, 2, Output::bernoulli);
    const ParamLayout layout(spec);
    StepNetworks networks(Model(*backend_, spec, laid_out(layout, torch_start)),
                          row_of(Estimator::G3));
    Optimizer optimizer(networks, options);
    for (std::int64_t t = 0; t < 100; ++t) {
      // Torch goes downhill.
      step(optimizer, t, options.learning_rate,
           laid_out(layout, [t](std::int64_t place) { return -torch_gradient(t, place); }));
      const auto after = c.at("after").find(std::to_string(t + 1));
      if (after == c.at("after").end()) continue;
      const std::vector<float> params = networks.P().model.download_params();
      for (const ParamSlot& slot : layout.slots()) {
        const Vector expected = after->at(slot.name).get<Vector>();
        const std::span own = std::span(params).subspan(slot.offset, slot.size());
        // A few roundings per step, of numbers of about one.
        expect_close(own, expected, 1.2e-7 * double(t + 2),
                     fmt::format("{} after {} steps", slot.name, t + 1));
      }
    }
  }
  EXPECT_EQ(seen.size(), kOptimizers.size());
}

TEST_P(OptimizerOnBackend, LeavesTheNormOfTheGradientAndClipsIt) {
  const NetworkSpec spec = network(30, {"40s", "30d"}, 20, Output::bernoulli);
  const ParamLayout layout(spec);
  const std::int64_t N = 10, parts = 3;
  std::vector<float> gradient(parts * layout.size);
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = std::sin(float(i));
  double squares = 0;
  for (std::int64_t i = 0; i < layout.size; ++i) {
    const double g =
        double(gradient[i]) + gradient[layout.size + i] + gradient[2 * layout.size + i];
    squares += g * g / double(N * N);
  }
  const double norm = std::sqrt(squares);
  std::vector<std::vector<float>> moved;
  for (const double clip : {0.0, 1e6, norm / 4}) {
    StepNetworks networks(Model(*backend_, spec, initial_params(spec, 1)), row_of(Estimator::G3));
    Optimizer optimizer(networks, {.hidden_rate = 0.1, .clip_norm = clip});
    backend_->fill_zero(sums_.data(), sums_.bytes());
    for (std::int64_t t = 0; t < 2; ++t) step(optimizer, t, 0.5, gradient, parts, N);
    const auto sums = downloaded<double>(*backend_, sums_);
    EXPECT_NEAR(sums[0], 2 * norm, 1e-5 * norm) << "before hidden_rate and before it is clipped";
    EXPECT_EQ(sums[1], clip > 0 && clip < norm ? 2 : 0);
    moved.push_back(networks.P().model.download_params());
  }
  EXPECT_EQ(moved[0], moved[1]) << "a norm that is long enough changes no bit";
  const std::vector<float> start = initial_params(spec, 1);
  for (std::int64_t i = 0; i < layout.size; ++i)
    ASSERT_NEAR(moved[2][i] - start[i], (moved[0][i] - start[i]) / 4, 2e-6) << i;
}

// Weights of age a count ema^a, and their shares add up to one.
TEST_P(OptimizerOnBackend, KeepsTheAverageOfTheWeights) {
  const NetworkSpec spec = network(3, {"4s"}, 2, Output::bernoulli);
  const ParamLayout layout(spec);
  const double ema = 0.75;
  StepNetworks networks(Model(*backend_, spec, initial_params(spec, 1)), row_of(Estimator::G3));
  Optimizer optimizer(networks, {.optimizer = OptimizerKind::adam, .ema = ema});
  ASSERT_TRUE(networks.P().average);
  EXPECT_EQ(networks.P().average->download_params(), initial_params(spec, 1));
  Vector sum(layout.size);
  double weight = 0;
  for (std::int64_t t = 0; t < 8; ++t) {
    step(optimizer, t, 0.1,
         laid_out(layout, [t](std::int64_t place) { return torch_gradient(t, place); }));
    const std::vector<float> params = networks.P().model.download_params();
    weight = ema * weight + 1;
    for (std::int64_t i = 0; i < layout.size; ++i) sum[i] = ema * sum[i] + params[i];
    Vector expected = sum;
    for (double& value : expected) value /= weight;
    expect_close(networks.P().average->download_params(), expected, 1e-6, "average");
  }
}

// A learnt sigma never decays: zero would be a sigma of one, not none.
TEST_P(OptimizerOnBackend, DecaysWeightsAndOnRequestBiases) {
  const NetworkSpec spec = network(3, {"2s+4d"}, 2, Output::gaussian_learnt);
  const ParamLayout layout(spec);
  for (const bool biases : {false, true}) {
    StepNetworks networks(Model(*backend_, spec, std::vector<float>(layout.size, 1)),
                          row_of(Estimator::G3));
    Optimizer optimizer(networks, {.momentum = 0, .weight_decay = 0.5, .decay_biases = biases});
    step(optimizer, 0, 0.5, std::vector<float>(layout.size));
    const std::vector<float> params = networks.P().model.download_params();
    for (const ParamSlot& slot : layout.slots()) {
      const bool is_bias = slot.name == "c" || slot.name.find(".b_") != std::string::npos;
      const bool stays = slot.name == "rho" || (is_bias && !biases);
      EXPECT_EQ(params[slot.offset], stays ? 1.0f : 0.75f) << slot.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, OptimizerOnBackend, backends_under_test(),
                         [](const auto& suite) { return std::string(suite.param); });

#ifndef SFNN_TEST_CUDA  // what follows does not depend on the backend

// --- several networks ----------------------------------------------------------------------------

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
  TrainOptions options{.learning_rate = 0.1, .hidden_rate = 0.5, .momentum = 0.5};
  options.proposal.learning_rate = 0.03;
  Optimizer optimizer(networks_, options);
  const std::int64_t N = 10;
  std::vector<float> part(networks_.part_size());
  for (std::size_t i = 0; i < part.size(); ++i) part[i] = std::sin(float(i));
  backend_->set_clock({.learning_rate = 0.1f});
  double sums[2] = {};
  for (int step = 0; step < 2; ++step)
    optimizer.enqueue({part.data(), 1, networks_.part_size(), 1}, N, sums);
  double squares = 0;
  for (const StepNetworks::Network& network : networks_) {
    const bool is_P = network.name == "P";
    const std::vector<float> start = initial_params(network.model.spec(), is_P ? 1 : 2);
    const std::vector<float> moved = network.model.download_params();
    const std::vector<float> velocity =
        downloaded(*backend_, *optimizer.array(network.name, "velocity"));
    for (std::int64_t i = 0; i < network.model.layout().size; ++i)
      squares += std::pow(part[network.offset + i] / double(N), 2);
    for (const ParamSlot& slot : network.model.layout().slots()) {
      // train.hidden_rate is P's alone.
      const float rate = !is_P ? 0.3f : slot.name.starts_with("layer") ? 0.5f : 1.0f;
      for (std::int64_t i = slot.offset; i < slot.offset + slot.size(); ++i) {
        const float g = part[network.offset + i] / float(N);
        // v_1 = g, v_2 = 1.5 g; 0.1 of both.
        ASSERT_NEAR(velocity[i], 1.5f * g, 1e-6f) << network.name << ' ' << slot.name;
        ASSERT_NEAR(moved[i] - start[i], 0.25f * rate * g, 1e-6f)
            << network.name << ' ' << slot.name;
      }
    }
  }
  EXPECT_NEAR(sums[0], 2 * std::sqrt(squares), 1e-5) << "the norm is of both networks";
  EXPECT_EQ(optimizer.array("P", "m"), nullptr);
  EXPECT_EQ(optimizer.array("Q", "velocity"), nullptr);
}

TEST(StateArrays, ListWhatARowAndANetworkKeep) {
  const NetworkSpec spec = network(5, {"4s", "2n+3d"}, 3, Output::bernoulli);
  const auto names = [&](Estimator estimator, const TrainOptions& options = {}) {
    std::string text;
    for (const ArraySpec& array : state_arrays(spec, row_of(estimator), options))
      text += array.name + (array.by_slot ? " " : "* ");
    return text;
  };
  EXPECT_EQ(names(Estimator::G1), "params velocity baseline* ");
  EXPECT_EQ(names(Estimator::G3), "params velocity ");
  EXPECT_EQ(names(Estimator::G1, {.optimizer = OptimizerKind::adamw, .ema = 0.9}),
            "params m v average baseline* ");
  EXPECT_EQ(state_arrays(spec, row_of(Estimator::G1), {}).back().size, 2 * 4);
}

// A name is a prefix of tensors in checkpoints, where the plain ones belong to the parameters.
TEST(Optimizers, HaveNamesForTheirArrays) {
  for (const OptimizerRow& row : kOptimizers) {
    EXPECT_EQ(row_of(row.id).name, row.name);
    EXPECT_GE(row.arrays(), 1);
    for (int a = 0; a < row.arrays(); ++a) {
      EXPECT_NE(row.array_names[a], kParams);
      EXPECT_NE(row.array_names[a], kAverage);
      EXPECT_NE(row.array_names[a], kBaseline);
      EXPECT_EQ(row.array_names[a].find_first_of("/:"), std::string_view::npos);
    }
  }
}

#endif

}  // namespace
}  // namespace sfnn
