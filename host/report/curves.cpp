// The report's charts: learning curves, particles, hidden units.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <set>

#include "host/base/statistics.hpp"
#include "host/report/chart.hpp"
#include "host/report/html.hpp"
#include "host/report/sections.hpp"

namespace sfnn {
namespace {

// With several runs, a run that is alone in its chart is named.
std::vector<Chart> with_names(const Runs& runs, std::vector<Chart> charts) {
  for (Chart& chart : charts) chart.names_one = runs.size() > 1;
  return charts;
}

std::string figures(const std::vector<Chart>& charts) {
  std::string html = "<div class=\"figures\">\n";
  for (const Chart& chart : charts) html += fmt::format("<figure>{}</figure>\n", to_svg(chart));
  return html + "</div>\n";
}

// --- runs that share a chart -------------------------------------------------------------------

struct Group {
  std::string data;               // empty: there is one group only
  std::vector<std::size_t> runs;  // their places
};

Group all_of(const Runs& runs) {
  Group group;
  for (std::size_t r = 0; r < runs.size(); ++r) group.runs.push_back(r);
  return group;
}

// For a chart's title, without loading the data set itself.
std::string name_of(const DataOptions& data) {
  if (data.set == kArrays) return "arrays of a program";
  if (data.set != "files") return fmt::format("{} {}", data.set, to_string(task_of(data)));
  const auto file = [](const std::string& path) {
    return std::filesystem::path(path).filename().string();
  };
  return fmt::format("{} to {}", file(data.train_x), file(data.train_y));
}

// Nats of different data sets or tasks do not belong on one axis.
std::vector<Group> by_data(const Runs& runs) {
  const auto data_of = [](const ReportRun& run) {
    const DataOptions& data = run.config.data;
    std::vector<std::string> key = {data.set, std::string(to_string(task_of(data)))};
    if (data.set == "files")
      key.insert(key.end(), {data.train_x, data.train_y, data.test_x, data.test_y,
                             std::string(to_string(data.output))});
    return key;
  };
  std::vector<Group> groups;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    auto group = std::ranges::find_if(groups, [&](const Group& other) {
      return data_of(runs[other.runs.front()]) == data_of(runs[r]);
    });
    if (group == groups.end()) group = groups.insert(group, Group{});
    group->runs.push_back(r);
    if (runs[r].measured) group->data = runs[r].measured->data_name;
    if (group->data.empty()) group->data = name_of(runs[r].config.data);
  }
  if (groups.size() == 1) groups[0].data.clear();
  return groups;
}

std::string title_of(const char* title, const Group& group) {
  return group.data.empty() ? title : fmt::format("{}: {}", title, group.data);
}

// --- curves ------------------------------------------------------------------------------------

using Figure = std::optional<double> EpochRecord::*;
using Parts = std::vector<double> EpochRecord::*;
using Curve = std::function<Series(std::size_t r)>;  // of the run at that place

Series by_epoch(const Runs& runs, std::size_t r, Figure figure, double factor = 1) {
  Series series{.name = runs[r].name, .color = int(r)};
  for (const EpochRecord& record : runs[r].metrics) {
    const std::optional<double> value = record.*figure;
    if (record.epoch && value) series.points.push_back({double(*record.epoch), factor * *value});
  }
  return series;
}

// C_hat of the parts of each epoch, a point where each part ends.
Series within_epochs(const Runs& runs, std::size_t r, Parts of) {
  Series series{.name = runs[r].name, .color = int(r)};
  for (const EpochRecord& record : runs[r].metrics) {
    const std::vector<double>& parts = record.*of;
    for (std::size_t k = 0; record.epoch && k < parts.size(); ++k)
      series.points.push_back(
          {double(*record.epoch) - 1 + double(k + 1) / double(parts.size()), parts[k]});
  }
  return series;
}

// The mean over the seeds at each point that all of them have, with a band from the lowest to the
// highest.
Series over_seeds(const SeedGroup& group, const Curve& curve) {
  Series mean = curve(group.runs.front());
  if (group.runs.size() == 1) return mean;
  mean.name = group.name;
  std::vector<std::vector<double>> values;
  for (const Point& point : mean.points) values.push_back({point.y});
  for (std::size_t k = 1; k < group.runs.size(); ++k) {
    for (const Point& point : curve(group.runs[k]).points) {
      const auto at = std::ranges::lower_bound(mean.points, point.x, {}, &Point::x);
      if (at != mean.points.end() && at->x == point.x)
        values[std::size_t(at - mean.points.begin())].push_back(point.y);
    }
  }
  std::vector<Point> points;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].size() < group.runs.size()) continue;
    points.push_back({mean.points[i].x, mean_of(values[i])});
    const auto [low, high] = std::ranges::minmax(values[i]);
    mean.band.push_back({low, high});
  }
  mean.points = std::move(points);
  return mean;
}

// Those of the seeds' groups that belong to the chart.
std::vector<SeedGroup> seeds_in(const Runs& runs, const Group& group) {
  std::vector<SeedGroup> groups = by_seed(runs);
  std::erase_if(groups, [&](const SeedGroup& seeds) {
    return std::ranges::find(group.runs, seeds.runs.front()) == group.runs.end();
  });
  return groups;
}

// Which epochs lie outside the plot; with several runs that differ, of which runs.
std::string note_of_the_start(const Chart& chart) {
  std::set<std::string> epochs;
  std::vector<std::string> names;
  for (const Series& series : chart.series) {
    std::vector<double> beyond;
    for (const Point& point : series.points)
      if (point.y < *chart.y.low || point.y > *chart.y.high) beyond.push_back(point.x);
    const bool from_the_first =
        beyond.size() > 1 && series.points[beyond.size() - 1].x == beyond.back();
    epochs.insert(beyond.empty()       ? ""
                  : beyond.size() == 1 ? fmt::format("epoch {} lies", beyond[0])
                  : from_the_first     ? fmt::format("epochs up to {} lie", beyond.back())
                                       : std::string("early epochs lie"));
    if (!beyond.empty()) names.push_back(series.name);
  }
  if (names.empty()) return "";
  if (epochs.size() == 1) return *epochs.begin() + " beyond the plot";
  const std::string note =
      fmt::format("early epochs of {} lie beyond the plot", fmt::join(names, ", "));
  constexpr std::size_t kMostBytes = 64;  // next to the label of the axis
  return note.size() <= kMostBytes
             ? note
             : fmt::format("early epochs of {} of {} runs lie beyond the plot", names.size(),
                           chart.series.size());
}

constexpr double kShortRun = 20;  // epochs: of a shorter run, every one counts

// The first epochs of a long run are so far off that they would flatten the rest: the plot shows
// the range of the rest, lines enter it from outside, and a note says so.
void leave_out_the_start(Chart& chart) {
  double last = 0, low = std::numeric_limits<double>::infinity(), high = -low;
  for (const Series& series : chart.series)
    for (const Point& point : series.points) last = std::max(last, point.x);
  if (last <= kShortRun) return;
  for (const Series& series : chart.series) {
    for (const Point& point : series.points) {
      if (point.x < 1 + last / 10) continue;
      low = std::min(low, point.y);
      high = std::max(high, point.y);
    }
  }
  if (!(high > low)) return;
  const double air = 0.08 * (high - low);
  chart.y.low = low - air;
  chart.y.high = high + air;
  chart.note = note_of_the_start(chart);
}

// One line per group of seeds; none if no run has a point.
std::optional<Chart> seeds_chart(const Runs& runs, const Group& group, Chart chart,
                                 const std::vector<Curve>& curves) {
  for (const SeedGroup& seeds : seeds_in(runs, group)) {
    for (const Curve& curve : curves) {
      Series series = over_seeds(seeds, curve);
      if (!series.points.empty()) chart.series.push_back(std::move(series));
    }
  }
  if (chart.series.empty()) return std::nullopt;
  return chart;
}

// of_average: the same figure of the averaged weights, a dashed line beside that of the weights.
std::optional<Chart> epoch_chart(const Runs& runs, const Group& group, const char* title,
                                 const std::string& label, Figure figure, double factor = 1,
                                 Figure of_average = nullptr) {
  std::vector<Curve> curves = {[&](std::size_t r) { return by_epoch(runs, r, figure, factor); }};
  if (of_average != nullptr)
    curves.push_back([&](std::size_t r) {
      Series average = by_epoch(runs, r, of_average, factor);
      average.name += ", average";
      average.dashed = true;
      return average;
    });
  return seeds_chart(
      runs, group,
      {.title = title_of(title, group), .x = {.label = "epoch", .whole = true}, .y = {label}},
      curves);
}

// In a longer run the epochs themselves are dense enough.
constexpr std::uint64_t kMostEpochsWithin = 100;

std::optional<Chart> within_chart(const Runs& runs, const Group& group, const char* title,
                                  Parts parts) {
  for (const std::size_t r : group.runs)
    if (!runs[r].metrics.empty() && runs[r].metrics.back().epoch > kMostEpochsWithin)
      return std::nullopt;
  return seeds_chart(runs, group,
                     {.title = title_of(title, group),
                      .x = {.label = "epoch", .whole = true},
                      .y = {"C_hat, nats, means over tenths of an epoch"}},
                     {[&](std::size_t r) { return within_epochs(runs, r, parts); }});
}

}  // namespace

std::vector<Chart> learning_charts(const Runs& runs) {
  std::vector<Chart> charts;
  const auto add = [&](std::optional<Chart> chart) {
    if (!chart) return;
    leave_out_the_start(*chart);
    charts.push_back(std::move(*chart));
  };
  for (const Group& group : by_data(runs)) {
    add(epoch_chart(runs, group, "Training criterion", "C_hat, nats", &EpochRecord::train_c_hat));
    add(epoch_chart(runs, group, "Training criterion by draws of R", "C_hat, nats",
                    &EpochRecord::train_c_hat_proposal));
    add(within_chart(runs, group, "Training criterion within epochs",
                     &EpochRecord::train_c_hat_within));
    add(within_chart(runs, group, "Training criterion within epochs by draws of R",
                     &EpochRecord::train_c_hat_proposal_within));
    add(epoch_chart(runs, group, "Validation", "NLL, nats", &EpochRecord::valid_nll, 1,
                    &EpochRecord::average_valid_nll));
    add(epoch_chart(runs, group, "Validation by draws of R", "NLL bound, nats",
                    &EpochRecord::valid_nll_proposal, 1, &EpochRecord::average_valid_nll_proposal));
    add(epoch_chart(runs, group, "Validation error", "error, %", &EpochRecord::valid_error, 100,
                    &EpochRecord::average_valid_error));
  }
  add(epoch_chart(runs, all_of(runs), "Gradient", "norm, mean over the steps",
                  &EpochRecord::gradient_norm));
  add(epoch_chart(runs, all_of(runs), "Learning rate", "rate of the epoch's last step",
                  &EpochRecord::learning_rate));
  return with_names(runs, std::move(charts));
}

std::string learning_section(const Runs& runs) {
  const std::vector<Chart> charts = learning_charts(runs);
  if (charts.empty()) return "";
  const bool has_average = std::any_of(charts.begin(), charts.end(), [](const Chart& chart) {
    return std::any_of(chart.series.begin(), chart.series.end(),
                       [](const Series& series) { return series.dashed; });
  });
  const bool has_bands = by_seed(runs).size() < runs.size();
  return section(
      "Learning curves",
      fmt::format(
          "The training criterion is the mean over the epoch while the weights move, with "
          "the M of training; validation is at the epoch's end, with the M of the test. "
          "{}The gradient's norm is that of the batch's mean gradient, before it is clipped.{}",
          has_average ? "Dashed: the moving average of the weights (train.ema). " : "",
          has_bands ? " Lines are means over the seeds, bands reach from the lowest to the "
                      "highest of them."
                    : ""),
      figures(charts));
}

namespace {

// A network that draws nothing has the same C_hat for every M: a horizontal line to compare the
// curves with. None if there is no curve.
std::optional<Chart> particles_chart(const Runs& runs, const Group& group) {
  Chart chart{.title = title_of("C_hat against M", group),
              .x = {"M, particles", /*logarithmic=*/true},
              .y = {"C_hat on the test examples, nats"}};
  double most = 1;
  for (const std::size_t r : group.runs)
    if (runs[r].measured) most = std::max(most, double(runs[r].measured->test.curve.size()));
  if (most < 2) return std::nullopt;
  for (const std::size_t r : group.runs) {
    const auto test = test_of(runs[r]);
    if (!test) continue;
    Series series{.name = runs[r].name, .color = int(r)};
    if (draws_in_test(runs[r])) {
      for (std::size_t k = 0; k < test->curve.size(); ++k)
        series.points.push_back({double(k + 1), test->curve[k]});
    } else {
      series.name += ", deterministic";
      series.dashed = true;
      series.points = {{1, -test->nll}, {most, -test->nll}};
    }
    if (!series.points.empty()) chart.series.push_back(std::move(series));
    if (!test->proposal || test->proposal->curve.empty()) continue;
    Series by_R{.name = runs[r].name + ", by R", .color = int(r), .dashed = true};
    for (std::size_t k = 0; k < test->proposal->curve.size(); ++k)
      by_R.points.push_back({double(k + 1), test->proposal->curve[k]});
    chart.series.push_back(std::move(by_R));
  }
  return chart;
}

}  // namespace

std::vector<Chart> particles_charts(const Runs& runs) {
  std::vector<Chart> charts;
  for (const Group& group : by_data(runs))
    if (auto chart = particles_chart(runs, group)) charts.push_back(std::move(*chart));
  constexpr struct {
    const char *title, *label;
    Figure figure, average;
  } kEffective[] = {
      {"Effective particles in training", "1 / sum of squared responsibilities, M of training",
       &EpochRecord::effective_particles, nullptr},
      {"Effective particles in training, draws of R",
       "1 / sum of squared responsibilities, M of training",
       &EpochRecord::effective_particles_proposal, nullptr},
      {"Effective particles in validation", "1 / sum of squared responsibilities, M of the test",
       &EpochRecord::valid_effective_particles, &EpochRecord::average_valid_effective_particles},
      {"Effective particles in validation, draws of R",
       "1 / sum of squared responsibilities, M of the test",
       &EpochRecord::valid_effective_particles_proposal,
       &EpochRecord::average_valid_effective_particles_proposal}};
  for (const auto& [title, label, figure, average] : kEffective) {
    if (auto chart = epoch_chart(runs, all_of(runs), title, label, figure, 1, average)) {
      chart->y.low = 0;
      charts.push_back(std::move(*chart));
    }
  }
  return with_names(runs, std::move(charts));
}

std::string particles_section(const Runs& runs) {
  const std::vector<Chart> charts = particles_charts(runs);
  if (charts.empty()) return "";
  return section(
      "Particles",
      "C_hat rises towards log P(y|x) with M: a curve that still climbs at its end "
      "means that more particles would show a better likelihood. A network without hidden "
      "randomness has one C_hat whatever M is. The effective number, "
      "between 1 and the M of training (in the table above: of the test), tells how "
      "many of the drawn particles explain an example.",
      figures(charts));
}

// --- hidden units ------------------------------------------------------------------------------

namespace {

Series histogram(const LayerActivity& layer, std::string name, int color, bool dashed) {
  Series series{
      .name = std::move(name), .color = color, .dashed = dashed, .shape = Series::Shape::steps};
  for (int b = 0; b <= LayerActivity::kBins; ++b) {
    const double share = layer.histogram[std::min(b, LayerActivity::kBins - 1)];
    series.points.push_back({double(b) / LayerActivity::kBins, 100 * share});
  }
  return series;
}

double highest(const Chart& chart) {
  double high = 0;
  for (const Series& series : chart.series)
    for (const Point& point : series.points) high = std::max(high, point.y);
  return high;
}

}  // namespace

// One run: its layer before and after. Several: the layer after training of each.
std::vector<Chart> hidden_units_charts(const Runs& runs) {
  constexpr double kHeadroom = 1.15;  // a bar that touches the frame looks cut off
  std::vector<Chart> charts;
  std::size_t layers = 0;
  for (const ReportRun& run : runs)
    layers = std::max(layers, run.measured ? run.measured->trained.size() : 0);
  for (std::size_t l = 0; l < layers; ++l) {
    Chart chart{.x = {"p, probability of firing", false, 0.0, 1.0},
                .y = {"share of units and examples, %", false, 0.0}};
    for (std::size_t r = 0; r < runs.size(); ++r) {
      const auto& measured = runs[r].measured;
      if (!measured || l >= measured->trained.size()) continue;
      const LayerActivity& layer = measured->trained[l];
      chart.title = fmt::format("Hidden layer {}", layer.layer);
      if (runs.size() == 1) {
        if (l < measured->start.size())
          chart.series.push_back(histogram(measured->start[l], "at the start", 7, true));
        chart.series.push_back(histogram(layer, "trained", 0, false));
      } else {
        chart.series.push_back(histogram(layer, runs[r].name, int(r), false));
      }
    }
    chart.y.high = kHeadroom * highest(chart);
    charts.push_back(std::move(chart));
  }
  return with_names(runs, std::move(charts));
}

namespace {

std::string activity_table(const Runs& runs) {
  Table table{
      .head = {"run", "layer", "stochastic units", "entropy at the start, bits",
               "entropy now, bits", "decided at the start, %", "decided now, %", "stuck now, %"},
      .text_columns = 1};
  for (std::size_t r = 0; r < runs.size(); ++r) {
    if (!runs[r].measured) continue;
    for (std::size_t l = 0; l < runs[r].measured->trained.size(); ++l) {
      const std::vector<LayerActivity>& before = runs[r].measured->start;
      const LayerActivity* start = l < before.size() ? &before[l] : nullptr;
      const LayerActivity& trained = runs[r].measured->trained[l];
      table.rows.push_back(
          {{named(runs, r), fmt::format("{}", trained.layer), fmt::format("{}", trained.units),
            start ? fixed(start->entropy, 3) : std::string(kNothing), fixed(trained.entropy, 3),
            start ? fixed(100 * start->decided, 1) : std::string(kNothing),
            fixed(100 * trained.decided, 1), fixed(100 * trained.stuck, 1)}});
    }
  }
  return card(to_html(table));
}

}  // namespace

std::string hidden_units_section(const Runs& runs) {
  const std::vector<Chart> charts = hidden_units_charts(runs);
  if (charts.empty()) return "";
  return section(
      "Hidden units: still random?",
      fmt::format("The distribution of p = sigma(a) over stochastic units and test examples. Mass "
                  "in the middle: units that toss a coin; mass at the ends: units that training "
                  "has made deterministic. Decided: p within {} of 0 or 1. Entropy: mean of H(p), "
                  "1 for a fair coin. Stuck: decided alike for all inputs.",
                  kDecided),
      figures(charts) + activity_table(runs));
}

}  // namespace sfnn
