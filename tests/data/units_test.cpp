// Means and scales of training examples.
#include "host/data/units.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "host/base/error.hpp"
#include "host/data/dataset.hpp"
#include "host/data/target_warnings.hpp"

namespace sfnn {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;
using testing::IsEmpty;

// Two columns of x, of which the second is constant; three of y.
DataSet four_examples(Output output = Output::gaussian) {
  DataSet data{.D_in = 2, .D_out = 3, .output = output};
  data.name = "four";
  data.train = {
      .count = 4,
      .x = {.values = std::vector<std::uint8_t>{0, 7, 2, 7, 4, 7, 6, 7}, .cols = 2, .scale = 0.5f},
      .y = {.values = std::vector<float>{1e6f, -1, 3, 1e6f + 2, 1, 3, 1e6f, -1, 3, 1e6f + 2, 1, 3},
            .cols = 3}};
  return data;
}

TEST(Units, AreMeansAndDeviationsOfTheTrainingExamples) {
  const Units units = units_of(four_examples(), Standardize::both, /*center=*/false);
  EXPECT_THAT(units.x_mean, ElementsAre(1.5f, 3.5f));
  EXPECT_THAT(units.x_scale, ElementsAre(FloatEq(std::sqrt(1.25f)), 1));  // no spread: 1
  EXPECT_THAT(units.y_mean, ElementsAre(1e6f + 1, 0, 3));
  EXPECT_THAT(units.y_scale, ElementsAre(FloatEq(1), FloatEq(1), 1));
  EXPECT_NEAR(deviation_of_targets(four_examples()), std::sqrt(2.0 / 3), 1e-12);
}

TEST(Units, OnlyWhatIsAskedFor) {
  const Units none = units_of(four_examples(), Standardize::none, false);
  EXPECT_EQ(none, Units());
  const Units centred = units_of(four_examples(), Standardize::none, true);
  EXPECT_THAT(centred.x_mean, ElementsAre(1.5f, 3.5f));
  EXPECT_THAT(centred.x_scale, IsEmpty());
  const Units x = units_of(four_examples(), Standardize::x, true);
  EXPECT_EQ(x.x_scale.size(), 2u);
  EXPECT_THAT(x.y_mean, IsEmpty());
  const Units y = units_of(four_examples(), Standardize::y, false);
  EXPECT_THAT(y.x_mean, IsEmpty());
  EXPECT_EQ(y.y_scale.size(), 3u);
}

TEST(Units, OnlyRealTargetsHaveThem) {
  for (const Output output : {Output::softmax, Output::bernoulli, Output::poisson}) {
    const Units units = units_of(four_examples(output), Standardize::both, false);
    EXPECT_EQ(units.x_scale.size(), 2u);
    EXPECT_THAT(units.y_scale, IsEmpty());
    EXPECT_THROW(units_of(four_examples(output), Standardize::y, false), ConfigError);
  }
}

// A bit of probability p has variance p (1 - p), however little p varies.
TEST(Units, BitsThatAreDrawnHaveTheSpreadOfBits) {
  DataSet data = four_examples(Output::bernoulli);
  data.train.x = {.values = std::vector<float>(8, 0.2f), .cols = 2};
  data.binarize_train = true;
  EXPECT_THAT(units_of(data, Standardize::x, false).x_scale,
              ElementsAre(FloatEq(0.4f), FloatEq(0.4f)));
}

TEST(Units, ACommonScaleIsTheRootMeanSquareAndStaysAsItIs) {
  Units units{.x_mean = {}, .x_scale = {}, .y_mean = {5, 6}, .y_scale = {1, 7}};
  units = with_common_y_scale(units);
  EXPECT_THAT(units.y_scale, ElementsAre(5, 5));
  EXPECT_THAT(units.y_mean, ElementsAre(5, 6));
  EXPECT_EQ(with_common_y_scale(units), units);
  EXPECT_NEAR(units.log_jacobian(), -2 * std::log(5), 1e-12);
  EXPECT_EQ(units.y_value(1, 2), 16);
  EXPECT_EQ(Units().y_value(1, 2), 2);
}

TEST(TargetWarnings, AClassThatNeverOccurs) {
  DataSet data{.D_in = 0, .D_out = 4, .output = Output::softmax};
  data.train = {.count = 4, .x = {}, .y = {.values = std::vector<float>{0, 1, 2, 3}, .cols = 1}};
  EXPECT_THAT(target_warnings(data, 1.0), IsEmpty());
  data.train.y.values = std::vector<float>{0, 3, 3, 0};
  EXPECT_THAT(target_warnings(data, 1.0),
              ElementsAre("2 of the classes 0 to 3 never occur in the training examples: 1, 2"));
  data.train.y.values = std::vector<float>{0, 3, 2, 0};
  EXPECT_THAT(target_warnings(data, 1.0),
              ElementsAre("1 of the classes 0 to 3 never occurs in the training examples: 1"));
}

TEST(TargetWarnings, ASigmaFarFromTheTargets) {
  const DataSet data = four_examples();  // whose deviation is 0.82
  EXPECT_THAT(target_warnings(data, 1.0), IsEmpty());
  EXPECT_THAT(target_warnings(data, 0.05), IsEmpty());  // a good network is that much better
  EXPECT_THAT(target_warnings(data, std::nullopt), IsEmpty());
  EXPECT_THAT(target_warnings(data, 3.0),
              ElementsAre(HasSubstr("net.sigma = 3 is far above the standard deviation of the "
                                    "targets, 0.816: try net.sigma = learnt")));
  EXPECT_THAT(target_warnings(data, 0.001),
              ElementsAre(HasSubstr("far below the standard deviation of the targets, 0.816: try "
                                    "data.standardize")));
}

}  // namespace
}  // namespace sfnn
