// A network that sees standardised numbers says the same, in the targets' own units, as the one
// that sees them as they are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "host/base/error.hpp"
#include "host/devices/registry.hpp"
#include "host/train/evaluate.hpp"
#include "host/train/gradient_draws.hpp"
#include "host/train/predict.hpp"
#include "host/train/trainer.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/small_data.hpp"

namespace sfnn {
namespace {

using testing::HasSubstr;

double rho_of(double sigma) { return std::log((sigma - 0.001) / 0.999); }

// Two models without hidden layers, of which the second sees x and y in units, and whose weights
// make them the same function of both.
struct Pair {
  explicit Pair(Output output) : spec(network(3, {}, 2, output)) {
    const bool common = output == Output::gaussian || output == Output::gaussian_learnt;
    units = {.x_mean = {1, -2, 0.5f},
             .x_scale = {2, 0.5f, 3},
             .y_mean = {10, -3},
             .y_scale = common ? std::vector<float>{4, 4} : std::vector<float>{4, 0.25f}};
    const ParamLayout layout(spec);
    seen.resize(layout.size);
    own.resize(layout.size);
    const std::int64_t L = spec.logits();
    const auto V = [&](std::vector<float>& p, std::int64_t j, std::int64_t i) -> float& {
      return p[layout.V.offset + j * L + i];
    };
    for (std::int64_t i = 0; i < 2; ++i) {
      const double s = units.y_scale[i];
      double c = 0.1 + 0.2 * double(i);
      seen[layout.c.offset + i] = float(c);
      for (std::int64_t j = 0; j < 3; ++j) {
        V(seen, j, i) = float(0.3 * double(i) - 0.2 * double(j) + 0.1);
        V(own, j, i) = float(s * V(seen, j, i) / units.x_scale[j]);
        c -= V(seen, j, i) * units.x_mean[j] / units.x_scale[j];
      }
      own[layout.c.offset + i] = float(units.y_mean[i] + s * c);
      if (L > 2) {  // a second head that says the same of every x
        seen[layout.c.offset + 2 + i] = float(rho_of(0.7));
        own[layout.c.offset + 2 + i] = float(rho_of(0.7 * s));
      }
    }
    for (std::int64_t k = 0; k < layout.rho.size(); ++k) {
      const double sigma = 0.5 + 0.25 * double(k);
      seen[layout.rho.offset + k] = float(rho_of(sigma));
      own[layout.rho.offset + k] = float(rho_of(sigma * units.y_scale[k]));
    }
    spec.sigma = output == Output::gaussian ? 1.5 : 1;
    examples = small_examples(20, 3, 2, output, 4);
    auto& y = std::get<std::vector<float>>(examples.y.values);
    for (std::size_t e = 0; e < y.size(); ++e) y[e] = units.y_mean[e % 2] + 3 * y[e];
  }

  NetworkSpec spec;
  Units units;
  std::vector<float> seen, own;
  Examples examples;
};

class RealTargets : public testing::TestWithParam<Output> {
 protected:
  std::unique_ptr<Backend> backend_ = make_backend({.device = "cpu", .threads = 1});
};
INSTANTIATE_TEST_SUITE_P(Gaussians, RealTargets,
                         testing::Values(Output::gaussian, Output::gaussian_learnt,
                                         Output::gaussian_each, Output::gaussian_predicted),
                         output_name);

TEST_P(RealTargets, FiguresArePredictedInTheirOwnUnits) {
  const Pair pair(GetParam());
  const Model standardised(*backend_, pair.spec, pair.seen, pair.units),
      plain(*backend_, pair.spec, pair.own);
  const Evaluation a = evaluate(standardised, pair.examples, {}),
                   b = evaluate(plain, pair.examples, {});
  EXPECT_NEAR(a.nll, b.nll, 1e-4 * b.nll);
  EXPECT_NEAR(*a.mean_sse, *b.mean_sse, 1e-4 * *b.mean_sse);
  EXPECT_EQ(a.criterion_sse.has_value(), b.criterion_sse.has_value());
  EXPECT_NEAR(a.criterion_sse.value_or(1), b.criterion_sse.value_or(1),
              1e-4 * b.criterion_sse.value_or(1));
  EXPECT_NEAR(a.sigma.value_or(1), b.sigma.value_or(1), 1e-5 * b.sigma.value_or(1));

  const auto close = [](const std::vector<float>& x, const std::vector<float>& y,
                        const char* what) {
    expect_close(x, Vector(y.begin(), y.end()), 1e-4, what);
  };
  close(mean_outputs(standardised, pair.examples, {}), mean_outputs(plain, pair.examples, {}),
        "means");
  std::vector<std::int32_t> rows(pair.examples.count);
  std::iota(rows.begin(), rows.end(), 0);
  const SampledOutputs x = sample_outputs(standardised, pair.examples, rows, 2, 1),
                       y = sample_outputs(plain, pair.examples, rows, 2, 1);
  close(x.means, y.means, "means of samples");
  close(x.sigmas, y.sigmas, "sigmas of samples");
  close(draw_outputs(GetParam(), x, 20, 2, 3), draw_outputs(GetParam(), y, 20, 2, 3), "samples");
}

// Training tells C_hat in the targets' own units, too.
TEST_P(RealTargets, TheCriterionOfTrainingIsThatOfEvaluation) {
  const Pair pair(GetParam());
  DataSet data{.D_in = 3, .D_out = 2, .output = Output::gaussian};
  data.train = pair.examples;
  const TrainOptions options{.batch = 20, .epochs = 2, .learning_rate = 0, .warmup_epochs = 0.0};
  const TrainPlan plan = plan_training(*backend_, pair.spec, options, data);
  Trainer trainer(plan, Model(*backend_, pair.spec, pair.seen, pair.units), options, data);
  trainer.train_step();
  const Evaluation plain = evaluate(Model(*backend_, pair.spec, pair.own), pair.examples, {});
  EXPECT_NEAR(trainer.epoch_means().C_hat, -plain.nll, 1e-4 * plain.nll);
}

TEST(ModelUnits, OneSigmaMakesOneScale) {
  const auto backend = make_backend({.device = "cpu", .threads = 1});
  const Units units{.x_mean = {}, .x_scale = {}, .y_mean = {0, 0}, .y_scale = {1, 7}};
  for (const OutputRow& row : kOutputs) {
    if (row.family != Output::gaussian) continue;
    const NetworkSpec spec = network(3, {}, 2, row.id);
    const Model model(*backend, spec, initial_params(spec, 1), units);
    const bool common = row.id == Output::gaussian || row.id == Output::gaussian_learnt;
    EXPECT_EQ(model.units().y_scale, common ? std::vector<float>({5, 5}) : units.y_scale)
        << row.name;
  }
}

TEST(ModelUnits, ThatDoNotFitAreRefused) {
  const auto backend = make_backend({.device = "cpu", .threads = 1});
  const auto refuses = [&](Output output, const Units& units) {
    const NetworkSpec spec = network(3, {}, 2, output);
    EXPECT_THROW(Model(*backend, spec, initial_params(spec, 1), units), DataError);
  };
  Units units;
  units.x_scale = {1, 1};
  refuses(Output::gaussian, units);
  units.x_scale.clear();
  units.y_mean = {1, 1};
  refuses(Output::bernoulli, units);
}

}  // namespace
}  // namespace sfnn
