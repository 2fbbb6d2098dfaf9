// What sfnn estimators shows, of figures made up for it.
#include "host/report/estimator_view.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "kernels/estimators.hpp"

namespace sfnn {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

const GradientFigures kOrdinary{
    .bias = {.value = 0.16, .error = 0.01}, .variance = 8.46, .cosine = 0.178, .cosine_sd = 0.046};

// Two matrices and V, with the same figures for every estimator.
StudyPoint point_of(std::vector<GradientFigures> weights) {
  const char* const names[] = {"layer1.W_s", "layer2.W_s", "V"};
  StudyPoint point{.step = 10, .epoch = 1};
  point.measured.reference.particles = 8;
  for (std::size_t w = 0; w < weights.size(); ++w) {
    weights[w].weights = names[w];
    point.measured.reference.quarter_bias.push_back(weights[w].bias);
    point.measured.reference.gradient.push_back(weights[w].bias.known() ? ReferenceGradient::found
                                                                        : ReferenceGradient::lost);
  }
  for (const EstimatorRow& estimator : kEstimators)
    point.measured.estimators.push_back({std::string(estimator.name), weights, 0.0123});
  return point;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0, end; begin <= text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
  }
  return lines;
}

// Cells are what two spaces or more keep apart.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  for (std::size_t begin = 0; (begin = line.find_first_not_of(' ', begin)) != line.npos;) {
    const std::size_t end = std::min(line.find("  ", begin), line.size());
    cells.push_back(line.substr(begin, end - begin));
    begin = end;
  }
  return cells;
}

// Names of the estimators, three measures of three matrices, and the cost.
constexpr std::size_t kLinesOfBlock = 1 + 3 * 3 + 1;

TEST(EstimatorTable, HasQuestionMarksForAllThatIsUnknown) {
  const auto lines = lines_of(to_table(point_of({{}, kOrdinary, kOrdinary})));
  ASSERT_EQ(lines.size(), 1 + 2 * kLinesOfBlock);
  EXPECT_THAT(lines[0], HasSubstr("(M = 2 is off by ?)"));
  EXPECT_THAT(cells_of(lines[2]), ElementsAre("layer1.W_s", "bias", "?", "?", "?", "?", "?"));
  EXPECT_THAT(cells_of(lines[3]), ElementsAre("variance", "?", "?", "?", "?", "?"));
  EXPECT_THAT(cells_of(lines[4]), ElementsAre("cosine", "?", "?", "?", "?", "?"));
  for (std::size_t i = 5; i <= kLinesOfBlock; ++i) EXPECT_THAT(lines[i], Not(HasSubstr("?")));
  EXPECT_THAT(to_table(point_of({kOrdinary})), HasSubstr("(M = 2 is off by 0.42 at most)"));
}

// Numbers as of a saturated network, whose gradients differ by many powers of ten.
TEST(EstimatorTable, KeepsLongNumbersApart) {
  const GradientFigures tiny{.bias = {.value = 2.43e-12, .error = 1.6e-13}, .variance = 9.27e-113};
  const GradientFigures huge{.bias = {.value = 5.43e10, .error = 4.7e8},
                             .variance = 4.21e105,
                             .cosine = -1234.567,
                             .cosine_sd = 12345.678};
  StudyPoint point = point_of({tiny, huge, kOrdinary});
  for (EstimatorFigures& figures : point.measured.estimators)
    figures.weights[1].weights = "layer1000.W_s";
  const auto lines = lines_of(to_table(point));
  ASSERT_EQ(lines.size(), 1 + 2 * kLinesOfBlock);
  EXPECT_EQ(cells_of(lines[1]).size(), 5u);
  for (std::size_t i = 2; i < kLinesOfBlock; ++i)
    EXPECT_EQ(cells_of(lines[i]).size(), i % 3 == 2 ? 7u : 6u) << lines[i];
  EXPECT_THAT(cells_of(lines[2]), Contains("1.56e-06 ±5e-08").Times(5));
  EXPECT_THAT(cells_of(lines[5]), Contains("2.33e+05 ±1e+03").Times(5));
  EXPECT_THAT(cells_of(lines[7]), Contains("-1234.567 ±12345.678").Times(5));
}

// So that the tables of a path stand under each other, within 100 columns.
TEST(EstimatorTable, HasFixedColumnsForOrdinaryNumbers) {
  const auto lines = lines_of(to_table(point_of({kOrdinary})));
  EXPECT_EQ(lines[1], std::string(34, ' ') + "G1" + "             G2             G3" +
                          "             G4             G5");
  EXPECT_THAT(lines[2], StartsWith("layer1.W_s  bias           0.4 ±0.01      0.4 ±0.01"));
  EXPECT_THAT(lines[5], StartsWith("a draw      cost             12.3 ms        12.3 ms"));
}

// A table of all estimators would be too wide: those of the field follow the paper's.
TEST(EstimatorTable, PutsTheFieldsEstimatorsBelowThePapers) {
  const auto lines = lines_of(to_table(point_of({kOrdinary, kOrdinary, kOrdinary})));
  EXPECT_THAT(cells_of(lines[1 + kLinesOfBlock]),
              ElementsAre("vimco", "vimco-geometric", "rloo", "darn", "st-gumbel"));
  for (const std::string& line : lines) EXPECT_LE(line.size(), 110u) << line;
}

TEST(EstimatorLines, AreNullInAllThatIsUnknown) {
  for (const MetricsLine& line : to_lines(point_of({{}, kOrdinary}), {})) {
    const bool unknown = line["weights"] == "layer1.W_s";
    // As written and read again: JSON has no other word for it.
    const MetricsLine read = parse_metrics(to_text({line}), "line").at(0);
    for (const char* key : {"reference_quarter_bias", "bias", "bias_squared", "bias_squared_error",
                            "variance", "cosine", "cosine_sd"})
      EXPECT_EQ(read[key].is_null(), unknown) << key << " of " << read;
    EXPECT_EQ(read["seconds_per_draw"], 0.0123);
  }
}

TEST(EstimatorRemarks, ACosineAboveOneIsExplained) {
  GradientFigures above = kOrdinary;
  EXPECT_THAT(remarks_on(point_of({above})), IsEmpty());
  above.cosine = 1.004;
  EXPECT_THAT(remarks_on(point_of({kOrdinary, above})),
              ElementsAre(HasSubstr("A cosine above 1: the noise of the reference")));
}

TEST(EstimatorRemarks, SayWhyFiguresAreUnknown) {
  StudyPoint point = point_of({{}, {}, kOrdinary});
  const auto lost = HasSubstr("lost in its noise: raise --reference");
  const auto zero = HasSubstr("exactly zero, e.g. because every unit is saturated");
  EXPECT_THAT(remarks_on(point), ElementsAre(lost));
  point.measured.reference.gradient[1] = ReferenceGradient::zero;
  EXPECT_THAT(remarks_on(point), ElementsAre(zero, lost));
  point.measured.reference.gradient[0] = ReferenceGradient::zero;
  EXPECT_THAT(remarks_on(point), ElementsAre(zero));
  EXPECT_THAT(remarks_on(point_of({kOrdinary, kOrdinary})), IsEmpty());
}

TEST(EstimatorCharts, LeaveOutWhatIsUnknownAndSaySo) {
  const auto [charts, columns] = charts_of(
      {point_of({kOrdinary, kOrdinary, kOrdinary}), point_of({{}, kOrdinary, kOrdinary})});
  ASSERT_EQ(charts.size(), 6u);
  for (std::size_t i = 0; i < charts.size(); ++i) {
    const bool gap = int(i) % columns == 0;
    EXPECT_EQ(charts[i].x.label.find("no point if g_ref is zero or lost") != std::string::npos,
              gap);
    for (const Series& series : charts[i].series) {
      EXPECT_TRUE(std::isfinite(series.points[0].y));
      EXPECT_EQ(std::isnan(series.points[1].y), gap);
    }
  }
  EXPECT_THAT(to_svg_file(charts, columns), Not(HasSubstr("nan")));
}

// In a paper or an image viewer: neither variables nor what only the report's page needs.
TEST(EstimatorCharts, AreDrawnByMoreThanBrowsers) {
  const auto [charts, columns] = charts_of({point_of({kOrdinary})});
  const std::string file = to_svg_file(charts, columns);
  EXPECT_THAT(file, HasSubstr("svg .line.c7{stroke:#5f6b7a}"));
  EXPECT_THAT(file, HasSubstr("svg .title{font-size:15px;font-weight:600;fill:#1c2330}"));
  for (const char* strange : {"var(", "@media", "body{", "transparent"})
    EXPECT_THAT(file, Not(HasSubstr(strange)));
}

}  // namespace
}  // namespace sfnn
