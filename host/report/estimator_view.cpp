#include "host/report/estimator_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "host/base/utf8.hpp"
#include "kernels/estimators.hpp"

namespace sfnn {
namespace {

double length(const SquaredLength& l) {
  return l.known() ? std::sqrt(std::max(0.0, l.value)) : std::nan("");
}
// An upper bound of the length, almost certainly.
double bound(const SquaredLength& l) { return std::sqrt(std::max(0.0, l.value) + 2 * l.error); }

// "0.412 ±0.02", or "< 0.05" if it could as well be zero.
std::string length_text(const SquaredLength& l) {
  if (!l.known()) return "?";
  if (!l.beyond_noise()) return fmt::format("< {:.2g}", bound(l));
  return fmt::format("{:.3g} ±{:.1g}", length(l), l.error / (2 * length(l)));
}

std::string variance_text(const GradientFigures& f) {
  return std::isnan(f.variance) ? "?" : fmt::format("{:.3g}", f.variance);
}

std::string cosine_text(const GradientFigures& f) {
  return std::isnan(f.cosine) ? "?" : fmt::format("{:.3f} ±{:.3f}", f.cosine, f.cosine_sd);
}

std::string reference_text(const ReferenceFigures& reference) {
  if (reference.particles == 0) return "all states of the hidden units";
  const std::vector<SquaredLength>& biases = reference.quarter_bias;
  std::string off = "?";
  if (std::ranges::all_of(biases, &SquaredLength::known))
    off = fmt::format("{:.2g} at most", bound(std::ranges::max(biases, {}, bound)));
  return fmt::format("G5 with M = {} (M = {} is off by {})", reference.particles,
                     reference.particles / 4, off);
}

using Row = std::vector<std::string>;  // weight matrix, measure, one cell per estimator

// Each row after a newline. Columns have fixed widths that suit most tables, so that those of a
// path line up; a column grows if its text would touch the next.
std::string aligned(const std::vector<Row>& rows) {
  constexpr std::size_t kWeights = 12, kMeasure = 9, kFigures = 15, kApart = 2;
  std::vector<std::size_t> widths(rows[0].size(), kFigures);
  widths[0] = kWeights;
  for (const Row& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], letters(row[c]) + kApart);
  widths[1] = kMeasure;  // fixed: its words are known
  std::string table;
  for (const Row& row : rows) {
    table += fmt::format("\n{:<{}}{:<{}}", row[0], widths[0], row[1], widths[1]);
    for (std::size_t c = 2; c < row.size(); ++c) table += fmt::format("{:>{}}", row[c], widths[c]);
  }
  return table;
}

constexpr std::size_t kColumnsOfBlock = 5;  // a table stays within 100 columns

std::string cost_text(double seconds) {
  return std::isnan(seconds) ? "?" : fmt::format("{:.3g} ms", 1000 * seconds);
}

// The figures of some estimators, side by side.
std::string block_of(std::span<const EstimatorFigures> estimators) {
  std::vector<Row> rows{{"", ""}};
  const auto add = [&](const std::string& weights, const char* measure, auto text) {
    Row& row = rows.emplace_back(Row{weights, measure});
    for (const EstimatorFigures& figures : estimators) row.push_back(text(figures));
  };
  for (const EstimatorFigures& figures : estimators) rows[0].push_back(figures.estimator);
  for (std::size_t w = 0; w < estimators[0].weights.size(); ++w) {
    const auto of = [w](auto text) {
      return [w, text](const EstimatorFigures& figures) { return text(figures.weights[w]); };
    };
    add(estimators[0].weights[w].weights, "bias",
        of([](const GradientFigures& f) { return length_text(f.bias); }));
    add("", "variance", of(variance_text));
    add("", "cosine", of(cosine_text));
  }
  add("a draw", "cost", [](const EstimatorFigures& figures) { return cost_text(figures.seconds); });
  return aligned(rows);
}

template <class Measured>
std::string place(const PathPoint<Measured>& point) {
  return fmt::format("step {}, epoch {}", point.step, point.epoch);
}

template <class Measured>
MetricsLine line_at(const PathPoint<Measured>& point, const StudyOptions& options) {
  return {{"step", point.step},
          {"epoch", point.epoch},
          {"particles", options.train.particles},
          {"batch", options.train.batch},
          {"draws", options.draws}};
}

struct Measure {
  const char *title, *label;
  bool logarithmic;
  double (*value)(const GradientFigures&);
};

constexpr Measure kMeasures[] = {
    {"Bias", "|E g \u2212 g_ref| / |g_ref|; no point if it is within the noise", true,
     [](const GradientFigures& f) {
       return f.bias.beyond_noise() ? length(f.bias) : std::nan("");
     }},
    {"Variance of a draw", "trace of the covariance / |g_ref|\u00b2", true,
     [](const GradientFigures& f) { return f.variance; }},
    {"Direction of a draw", "cosine to g_ref, mean", false,
     [](const GradientFigures& f) { return f.cosine; }},
};

constexpr const char* kStepWithGaps =
    "training step; no point if g_ref is zero or lost in its noise";

}  // namespace

std::string to_table(const StudyPoint& point) {
  const Study& study = point.measured;
  std::string table =
      fmt::format("{}; reference: {}", place(point), reference_text(study.reference));
  const std::span<const EstimatorFigures> all(study.estimators);
  for (std::size_t first = 0; first < all.size(); first += kColumnsOfBlock)
    table += block_of(all.subspan(first, std::min(kColumnsOfBlock, all.size() - first)));
  return table;
}

std::string to_table(const SweepPoint& point) {
  std::string table = fmt::format("{}\n{:>8}{:>24}", place(point), "cM", "norm of a draw of G5");
  for (const NormAtC& at : point.measured)
    table +=
        fmt::format("\n{:>8.4g}{:>24}", at.cM, fmt::format("{:.5g} ±{:.1g}", at.norm, at.error));
  return table;
}

std::vector<std::string> remarks_on(const StudyPoint& point) {
  const auto any = [&](ReferenceGradient state) {
    return std::ranges::count(point.measured.reference.gradient, state) > 0;
  };
  std::vector<std::string> remarks;
  if (any(ReferenceGradient::zero))
    remarks.push_back(
        "?: the reference gradient is exactly zero, e.g. because every unit is saturated.");
  if (any(ReferenceGradient::lost))
    remarks.push_back("?: the reference gradient is lost in its noise: raise --reference.");
  const bool above_one = std::ranges::any_of(point.measured.estimators, [](const auto& figures) {
    return std::ranges::any_of(figures.weights, [](const auto& f) { return f.cosine > 1; });
  });
  if (above_one) {
    remarks.push_back(
        "A cosine above 1: the noise of the reference is taken out of its length by an estimate, "
        "which may take out too much; read it as 1.");
  }
  return remarks;
}

std::vector<std::string> remarks_on(const SweepPoint&) { return {}; }

std::vector<MetricsLine> to_lines(const StudyPoint& point, const StudyOptions& options) {
  std::vector<MetricsLine> lines;
  for (const EstimatorFigures& figures : point.measured.estimators) {
    for (std::size_t w = 0; w < figures.weights.size(); ++w) {
      const GradientFigures& f = figures.weights[w];
      const ReferenceFigures& reference = point.measured.reference;
      MetricsLine& line = lines.emplace_back(line_at(point, options));
      line["reference_particles"] = reference.particles;  // 0: exact
      if (reference.particles > 0)
        line["reference_quarter_bias"] = length(reference.quarter_bias[w]);
      line["estimator"] = figures.estimator;
      line["weights"] = f.weights;
      line["bias"] = length(f.bias);
      line["bias_squared"] = f.bias.value;
      line["bias_squared_error"] = f.bias.error;
      line["variance"] = f.variance;
      line["cosine"] = f.cosine;
      line["cosine_sd"] = f.cosine_sd;
      line["seconds_per_draw"] = figures.seconds;
    }
  }
  return lines;
}

std::vector<MetricsLine> to_lines(const SweepPoint& point, const StudyOptions& options) {
  std::vector<MetricsLine> lines;
  for (const NormAtC& at : point.measured) {
    MetricsLine& line = lines.emplace_back(line_at(point, options));
    line["cM"] = at.cM;
    line["norm"] = at.norm;
    line["norm_error"] = at.error;
  }
  return lines;
}

Charts charts_of(const std::vector<StudyPoint>& points) {
  const std::vector<EstimatorFigures>& estimators = points[0].measured.estimators;
  const std::size_t matrices = estimators[0].weights.size() - 1;  // without V
  const auto found = [](std::size_t w) {
    return [w](const StudyPoint& point) {
      return point.measured.reference.gradient[w] == ReferenceGradient::found;
    };
  };
  Charts result{.columns = int(matrices)};
  for (const Measure& measure : kMeasures) {
    for (std::size_t w = 0; w < matrices; ++w) {
      Chart chart{.title = fmt::format("{}, {}", measure.title, estimators[0].weights[w].weights),
                  .x = {std::ranges::all_of(points, found(w)) ? "training step" : kStepWithGaps},
                  .y = {measure.label, measure.logarithmic}};
      for (std::size_t e = 0; e < estimators.size(); ++e) {
        Series series{.name = estimators[e].estimator,
                      .color = int(*parse_estimator(estimators[e].estimator))};
        for (const StudyPoint& point : points)
          series.points.push_back(
              {double(point.step), measure.value(point.measured.estimators[e].weights[w])});
        chart.series.push_back(std::move(series));
      }
      result.charts.push_back(std::move(chart));
    }
  }
  return result;
}

Charts charts_of(const std::vector<SweepPoint>& points) {
  Chart chart{.title = "Norm of a draw of G5, first hidden layer's weights",
              .x = {"cM"},
              .y = {"mean norm over mini-batches", false, 0.0}};
  for (const SweepPoint& point : points) {
    Series series{.name = place(point), .color = int(chart.series.size())};
    for (const NormAtC& at : point.measured) series.points.push_back({at.cM, at.norm});
    chart.series.push_back(std::move(series));
  }
  return {.charts = {std::move(chart)}};
}

}  // namespace sfnn
