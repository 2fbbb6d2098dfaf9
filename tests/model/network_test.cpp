#include "host/model/network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "host/backend/cpu/cpu_backend.hpp"
#include "host/base/error.hpp"
#include "host/model/initial_params.hpp"
#include "host/model/model.hpp"
#include "kernels/box_muller.hpp"
#include "kernels/philox.hpp"
#include "tests/support/networks.hpp"

namespace sfnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class Fn>
std::string config_error(const Fn& fn) {
  try {
    fn();
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "no ConfigError";
}

TEST(ParseLayer, ReadsWhatToStringWrites) {
  EXPECT_EQ(parse_layer("200s"), (LayerSpec{.n_s = 200, .n_d = 0, .fixed = false}));
  EXPECT_EQ(parse_layer("200d"), (LayerSpec{.n_s = 0, .n_d = 200, .fixed = false}));
  EXPECT_EQ(parse_layer("40s+160d"), (LayerSpec{.n_s = 40, .n_d = 160, .fixed = false}));
  EXPECT_EQ(parse_layer("40n+160d"), (LayerSpec{.n_s = 40, .n_d = 160, .fixed = true}));
  EXPECT_EQ(parse_layer("160d+40n"), parse_layer("40n+160d"));
  for (const char* text : {"1s", "7n", "200d", "40s+160d", "40n+160d"})
    EXPECT_EQ(to_string(parse_layer(text)), text);
  for (const ActivationRow& unit : kActivations) {
    const std::string text = "160" + std::string(unit.suffix);
    const LayerSpec layer{.n_s = 40, .n_d = 160, .fixed = true, .activation = unit.id};
    EXPECT_EQ(parse_layer(text), (LayerSpec{.n_d = 160, .activation = unit.id}));
    EXPECT_EQ(parse_layer("40n+" + text), layer);
    EXPECT_EQ(parse_layer(text + "+40n"), layer);
    EXPECT_EQ(to_string(layer), "40n+" + text);
  }
}

TEST(ParseLayer, SaysWhatItDoesNotUnderstand) {
  for (const char* text :
       {"", "s", "200", "0s", "-3s", "200x", "200s+", "+200s", "200s160d", "20s+30s", "20s+30n",
        "2d+3d", "2relu+3d", "3Relu", "3tan", " 20s", "20s ", "1.5s"}) {
    const std::string message = config_error([&] { parse_layer(text); });
    EXPECT_THAT(message, HasSubstr("layer '" + std::string(text) + "' is not understood"));
    EXPECT_THAT(message, HasSubstr("40s+160d"));
  }
}

TEST(ParseLayer, SaysWhatIsTooLarge) {
  for (const char* text : {"99999999999999999999s", "999999999s", "40s+16777217d"}) {
    EXPECT_THAT(config_error([&] { parse_layer(text); }),
                HasSubstr("layer '" + std::string(text) + "' is too large: at most 16777216"));
  }
}

TEST(Layer, OutputIsItsDeterministicUnitsWhereItHasThem) {
  EXPECT_EQ(parse_layer("40s+160d").width(), 160);
  EXPECT_EQ(parse_layer("40s").width(), 40);
  EXPECT_TRUE(parse_layer("40n+1d").samples());
  EXPECT_FALSE(parse_layer("40n+1d").trains_s());
  EXPECT_FALSE(parse_layer("40d").samples());
}

TEST(Network, WidthsAndKinds) {
  const NetworkSpec spec = network(392, {"40s+160d", "30s"}, 10, Output::softmax);
  EXPECT_EQ(spec.input_width(0), 392);
  EXPECT_EQ(spec.input_width(1), 160);
  EXPECT_EQ(spec.input_width(2), 30);
  EXPECT_EQ(to_string(spec), "392-40s+160d-30s-10 softmax");
  EXPECT_TRUE(spec.samples());
  EXPECT_TRUE(spec.trains_s());
  const NetworkSpec D = network(3, {"2n+2d"}, 3, Output::gaussian);
  EXPECT_TRUE(D.samples());
  EXPECT_FALSE(D.trains_s());
  EXPECT_FALSE(network(3, {"2d"}, 3, Output::gaussian).samples());
}

TEST(Network, ValidatesWithOneClearSentence) {
  EXPECT_NO_THROW(network(0, {"3s"}, 1, Output::bernoulli).validate());
  EXPECT_NO_THROW(network(5, {}, 1, Output::gaussian).validate());
  const auto message = [](NetworkSpec spec) { return config_error([&] { spec.validate(); }); };
  EXPECT_THAT(message({.D_in = -1, .hidden = {}, .D_out = 1}), HasSubstr("input width -1"));
  EXPECT_THAT(message({.D_in = 1, .hidden = {}, .D_out = 0}), HasSubstr("output width 0"));
  EXPECT_THAT(message({.D_in = 1, .hidden = {}, .D_out = 1, .output = Output::softmax}),
              HasSubstr("at least two classes"));
  EXPECT_THAT(message({.D_in = 1, .hidden = {LayerSpec{}}, .D_out = 1}),
              HasSubstr("0 stochastic and 0 deterministic"));
  EXPECT_THAT(message({.D_in = 1, .hidden = {{.n_s = -2, .n_d = 3}}, .D_out = 1}),
              HasSubstr("-2 stochastic"));
  EXPECT_THAT(message({.D_in = 1, .hidden = std::vector(201, parse_layer("1s")), .D_out = 1}),
              HasSubstr("201 hidden layers: at most 200"));
}

TEST(Layout, SlotsOfAHybridNetwork) {
  const NetworkSpec spec = network(5, {"2s+3d", "4n+2d", "3s"}, 6, Output::bernoulli);
  const ParamLayout layout(spec);
  std::vector<std::string> names;
  std::vector<std::int64_t> shapes;
  std::int64_t end = 0;
  for (const ParamSlot& slot : layout.slots()) {
    names.push_back(slot.name);
    shapes.push_back(slot.rows * 100 + slot.cols);
    EXPECT_EQ(slot.offset % 16, 0) << slot.name << " starts on a 64-byte border";
    EXPECT_GE(slot.offset, end) << slot.name << " overlaps the one before";
    end = slot.offset + slot.size();
  }
  EXPECT_LE(end, layout.size);
  EXPECT_THAT(names, ElementsAre("layer1.W_s", "layer1.b_s", "layer1.W_d", "layer1.U", "layer1.b_d",
                                 "layer2.W_d", "layer2.U", "layer2.b_d", "layer3.W_s", "layer3.b_s",
                                 "V", "c"));
  EXPECT_THAT(shapes, ElementsAre(502, 102, 503, 203, 103, 302, 402, 102, 203, 103, 306, 106));
  EXPECT_EQ(layout.parameter_count(), 10 + 2 + 15 + 6 + 3 + 6 + 8 + 2 + 6 + 3 + 18 + 6);
}

TEST(Layout, WithoutInputThereAreOnlyBiases) {
  const ParamLayout layout(network(0, {"3s"}, 2, Output::bernoulli));
  EXPECT_EQ(layout.hidden[0].W_s.size(), 0);
  EXPECT_EQ(layout.hidden[0].b_s.size(), 3);
  EXPECT_EQ(layout.parameter_count(), 3 + 6 + 2);
}

// Network B reads A's flat array as it is.
TEST(AsStochastic, KeepsEveryParameterInPlace) {
  const NetworkSpec A = network(7, {"5d", "3d"}, 2, Output::softmax);
  const NetworkSpec B = as_stochastic(A);
  EXPECT_EQ(to_string(B), "7-5s-3s-2 softmax");
  const ParamLayout a(A), b(B);
  EXPECT_EQ(a.size, b.size);
  for (int l = 0; l < 2; ++l) {
    EXPECT_EQ(a.hidden[l].W_d.offset, b.hidden[l].W_s.offset);
    EXPECT_EQ(a.hidden[l].b_d.offset, b.hidden[l].b_s.offset);
    EXPECT_EQ(a.hidden[l].W_d.size(), b.hidden[l].W_s.size());
  }
  EXPECT_EQ(a.V.offset, b.V.offset);
}

TEST(AsStochastic, RefusesHybridLayers) {
  const NetworkSpec spec = network(7, {"5d", "3s+2d"}, 2, Output::softmax);
  EXPECT_THAT(config_error([&] { as_stochastic(spec); }), HasSubstr("layer '3s+2d'"));
}

TEST(AsStochastic, RefusesUnitsThatAreNoProbabilities) {
  for (const char* layer : {"3tanh", "3relu"}) {
    const NetworkSpec spec = network(7, {"5d", layer}, 2, Output::softmax);
    EXPECT_THAT(config_error([&] { as_stochastic(spec); }),
                HasSubstr("layer '" + std::string(layer) + "' cannot be read as a stochastic one"));
  }
}

// W ~ N(0, scale^2 gain^2 / fan-in): of n draws the mean lies within 4.5 sigma / sqrt(n) of zero,
// the variance within 4.5 sigma^2 sqrt(2 / n) of sigma^2.
TEST(InitialParams, AreNormalWithVarianceOneOverFanIn) {
  constexpr double kScale = 1.5, kSigmas = 4.5;
  const NetworkSpec spec =
      network(80, {"60s+50d", "70s", "60s+50relu", "60tanh"}, 90, Output::bernoulli);
  const std::vector<float> params = initial_params(spec, /*seed=*/3, kScale);
  const ParamLayout layout(spec);
  ASSERT_EQ(std::int64_t(params.size()), layout.size);
  EXPECT_EQ(layout.hidden[0].W_d.fan_in, 80 + 60);  // d reads z and s
  EXPECT_EQ(layout.hidden[0].U.fan_in, 80 + 60);
  // He's scale for rectified units, on all that they read.
  const double He = std::sqrt(2.0);
  EXPECT_DOUBLE_EQ(layout.hidden[2].W_d.initial_gain, He);
  EXPECT_DOUBLE_EQ(layout.hidden[2].U.initial_gain, He);
  for (const ParamSlot* slot :
       {&layout.hidden[2].W_s, &layout.hidden[0].W_d, &layout.hidden[3].W_d, &layout.V})
    EXPECT_EQ(slot->initial_gain, 1) << slot->name;
  for (const ParamSlot& slot : layout.slots()) {
    double sum = 0, squares = 0;
    for (std::int64_t e = 0; e < slot.size(); ++e) {
      sum += params[slot.offset + e];
      squares += double(params[slot.offset + e]) * params[slot.offset + e];
    }
    if (slot.fan_in == 0) {
      EXPECT_EQ(squares, 0) << slot.name << ": biases start at zero";
      continue;
    }
    const double n = double(slot.size()), scale = kScale * slot.initial_gain;
    const double variance = scale * scale / double(slot.fan_in);
    EXPECT_NEAR(sum / n, 0, kSigmas * std::sqrt(variance / n)) << slot.name;
    EXPECT_NEAR(squares / n, variance, kSigmas * variance * std::sqrt(2 / n)) << slot.name;
  }
}

// So that every example begins with the same sigma, the one that is asked for.
TEST(InitialParams, LetAPredictedSigmaBeginAtOneValue) {
  const NetworkSpec spec = network(8, {"6s"}, 4, Output::gaussian_predicted);
  const ParamLayout layout(spec);
  const std::vector<float> params = initial_params(spec, 1, 1.0, /*sigma=*/0.2);
  for (std::int64_t j = 0; j < layout.V.rows; ++j)
    for (std::int64_t i = 0; i < 8; ++i)
      EXPECT_EQ(params[layout.V.offset + 8 * j + i] == 0, i >= 4) << j << ' ' << i;
  for (std::int64_t i = 0; i < 8; ++i) {
    const float c = params[layout.c.offset + i];
    EXPECT_NEAR(i < 4 ? c : std::exp(deviation_from(c).log_sigma), i < 4 ? 0 : 0.2, 1e-6) << i;
  }
}

// Of some two million draws, rounded to float; what vectors compute must not show.
TEST(InitialParams, AreTheBitsOfTheScalarFormula) {
  constexpr double kScale = 1.5;
  const NetworkSpec spec = network(1500, {"1031s", "333s"}, 1, Output::bernoulli);
  const std::vector<float> params = initial_params(spec, /*seed=*/3, kScale);
  const DrawKey key{/*seed=*/3, /*step=*/0, kSiteInitWeights};
  std::uint32_t tensor = 0;
  for (const ParamSlot& slot : ParamLayout(spec).slots()) {
    ++tensor;
    if (slot.fan_in == 0) continue;
    const double sigma = kScale / std::sqrt(double(slot.fan_in));
    for (std::int64_t e = 0; e < slot.size(); ++e) {
      const auto j = std::uint32_t(e / slot.cols);
      const double u = uniform(key, tensor, j, 2 * (e % slot.cols));
      const double v = uniform(key, tensor, j, 2 * (e % slot.cols) + 1);
      ASSERT_EQ(params[slot.offset + e], float(sigma * box_muller(u, v))) << slot.name << " " << e;
    }
  }
}

TEST(InitialParams, AreDrawnInPlaceByAnyNumberOfThreads) {
  for (Output output : {Output::bernoulli, Output::gaussian_each, Output::gaussian_predicted}) {
    const NetworkSpec spec = network(3000, {"701s"}, 4, output);
    for (int threads : {1, 3}) {
      CpuBackend backend(threads);
      EXPECT_EQ(Model(backend, spec, InitialWeights{1, 2.0, 0.5}).download_params(),
                initial_params(spec, 1, 2.0, 0.5));
    }
  }
}

TEST(InitialParams, DependOnTheSeedAlone) {
  const NetworkSpec spec = network(8, {"6s"}, 4, Output::bernoulli);
  EXPECT_EQ(initial_params(spec, 1), initial_params(spec, 1));
  EXPECT_NE(initial_params(spec, 1), initial_params(spec, 2));
}

TEST(Network, SlotsKnowTheirGroup) {
  const NetworkSpec spec{.D_in = 3, .hidden = {parse_layer("2s+4d")}, .D_out = 5};
  std::string groups;
  for (const ParamSlot& slot : ParamLayout(spec).slots()) {
    switch (slot.group) {
      case ParamGroup::weight:
        groups += slot.name + " weight, ";
        break;
      case ParamGroup::bias:
        groups += slot.name + " bias, ";
        break;
      case ParamGroup::output:
        groups += slot.name + " output, ";
        break;
      case ParamGroup::output_bias:
        groups += slot.name + " output_bias, ";
        break;
      case ParamGroup::scale:
        groups += slot.name + " scale, ";
        break;
    }
  }
  EXPECT_EQ(
      groups,
      "layer1.W_s weight, layer1.b_s bias, layer1.W_d weight, layer1.U weight, layer1.b_d bias, "
      "V output, c output_bias, ");
}

}  // namespace
}  // namespace sfnn
