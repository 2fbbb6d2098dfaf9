#include "host/app/report/page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "host/app/progress.hpp"
#include "host/app/report/chart.hpp"
#include "host/app/report/html.hpp"
#include "host/app/report/style.hpp"

namespace sfnn {
namespace {

using Runs = std::vector<ReportRun>;

constexpr std::string_view kNothing = "\u2013";

// Metrics come from a file that anybody may have edited.
std::optional<double> number_in(const MetricsLine& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::string text_in(const MetricsLine& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end()) return std::string(kNothing);
  return escape(found->is_string() ? found->get<std::string>() : found->dump());
}

std::optional<double> last_number(const ReportRun& run, const char* key) {
  return run.metrics.empty() ? std::nullopt : number_in(run.metrics.back(), key);
}

std::string fixed(std::optional<double> value, int digits) {
  if (!value) return std::string(kNothing);
  return fmt::format("{}{:.{}f}", *value < 0 ? kMinus : "", std::abs(*value), digits);
}

std::string section(std::string_view title, std::string_view text, const std::string& content) {
  return fmt::format("<section>\n<h2>{}</h2>\n<p>{}</p>\n{}</section>\n", title, text, content);
}

std::string card(const std::string& content) {
  return fmt::format("<div class=\"card\">{}</div>\n", content);
}

std::string figures(const std::vector<Chart>& charts) {
  std::string html = "<div class=\"figures\">\n";
  for (const Chart& chart : charts) html += fmt::format("<figure>{}</figure>\n", to_svg(chart));
  return html + "</div>\n";
}

std::string named(const Runs& runs, std::size_t r) {
  return fmt::format("<span class=\"swatch b{}\"></span>{}", r % kColors, escape(runs[r].name));
}

// --- final figures -----------------------------------------------------------------------------

struct Column {
  std::string head;
  std::function<std::optional<double>(const ReportRun&)> value;
  int digits = 2;
  bool lower_is_better = false;
};

std::vector<Column> final_columns(const Runs& runs) {
  const auto test = [](auto member) {
    return [member](const ReportRun& run) -> std::optional<double> {
      if (!run.measured) return std::nullopt;
      return member(run.measured->test);
    };
  };
  using E = const Evaluation&;
  std::vector<Column> columns = {
      {"train C_hat", [](const ReportRun& run) { return last_number(run, "train_c_hat"); }},
      {"valid NLL, best", [](const ReportRun& run) { return run.state.best_valid_nll; }, 2, true},
      {"test NLL", test([](E e) { return std::optional(e.nll); }), 2, true},
      {"test error, %",
       test([](E e) { return e.error ? std::optional(100 * *e.error) : std::nullopt; }), 2, true},
      {"criterion SSE", test([](E e) { return e.criterion_sse; }), 2, true},
      {"SSE of the mean", test([](E e) { return e.mean_sse; }), 2, true},
      {"test M", test([](E e) { return std::optional(double(e.particles)); }), 0},
      {"effective particles", test([](E e) { return std::optional(e.effective_particles); })}};
  std::erase_if(columns, [&](const Column& column) {
    return std::none_of(runs.begin(), runs.end(),
                        [&](const ReportRun& run) { return column.value(run).has_value(); });
  });
  return columns;
}

std::string final_figures(const Runs& runs) {
  const std::vector<Column> columns = final_columns(runs);
  Table table{.text_columns = 2};
  table.head = {"run", "network", "parameters", "estimator", "M", "epochs"};
  for (const Column& column : columns) table.head.push_back(column.head);
  table.head.push_back("time");
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const ReportRun& run = runs[r];
    const TrainConfig& train = run.config.train;
    std::vector<std::string> cells = {
        named(runs, r),
        escape(to_string(run.network)),
        fmt::format("{}", ParamLayout(run.network).parameter_count()),
        run.network.trains_s() ? std::string(info(train.estimator).name) : std::string(kNothing),
        run.network.samples() ? fmt::format("{}", train.particles) : std::string(kNothing),
        run.state.epoch < train.epochs ? fmt::format("{} of {}", run.state.epoch, train.epochs)
                                       : fmt::format("{}", run.state.epoch)};
    for (const Column& column : columns) {
      const auto value = column.value(run);
      const bool best = column.lower_is_better && runs.size() > 1 && value &&
                        std::all_of(runs.begin(), runs.end(), [&](const ReportRun& other) {
                          return column.value(other).value_or(*value) >= *value;
                        });
      const std::string text = fixed(value, column.digits);
      cells.push_back(best ? fmt::format("<span class=\"best\">{}</span>", text) : text);
    }
    cells.push_back(duration(run.state.seconds));
    table.rows.push_back({std::move(cells)});
  }
  std::string notes;
  for (const ReportRun& run : runs) {
    if (!run.note.empty())
      notes += fmt::format("<p>{}: {}</p>\n", escape(run.name), escape(run.note));
  }
  return section("Final figures",
                 "Nats per example. C_hat is the estimate of log P(y|x) from M draws of the hidden "
                 "units, NLL is \u2212C_hat with the M of the test.",
                 card(to_html(table)) + notes);
}

// --- curves ------------------------------------------------------------------------------------

Series by_epoch(const Runs& runs, std::size_t r, const char* key, double factor = 1) {
  Series series{.name = runs[r].name, .color = int(r)};
  for (const MetricsLine& line : runs[r].metrics) {
    const auto epoch = number_in(line, "epoch"), value = number_in(line, key);
    if (epoch && value) series.points.push_back({*epoch, factor * *value});
  }
  return series;
}

// The first epochs are so far off that they would flatten all that follows: the plot's range is
// that of the rest, and lines come in from beyond it.
void leave_out_the_start(Chart& chart) {
  double last = 0, low = std::numeric_limits<double>::infinity(), high = -low;
  for (const Series& series : chart.series)
    for (const Point& point : series.points) last = std::max(last, point.x);
  if (last < 5) return;
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
}

std::optional<Chart> epoch_chart(const Runs& runs, const std::string& title,
                                 const std::string& label, const char* key, double factor = 1) {
  Chart chart{.title = title, .x = {"epoch"}, .y = {label}};
  for (std::size_t r = 0; r < runs.size(); ++r) {
    Series series = by_epoch(runs, r, key, factor);
    if (!series.points.empty()) chart.series.push_back(std::move(series));
  }
  if (chart.series.empty()) return std::nullopt;
  return chart;
}

std::string learning(const Runs& runs) {
  std::vector<Chart> charts;
  const auto add = [&](std::optional<Chart> chart) {
    if (!chart) return;
    leave_out_the_start(*chart);
    charts.push_back(std::move(*chart));
  };
  add(epoch_chart(runs, "Training criterion", "C_hat, nats", "train_c_hat"));
  add(epoch_chart(runs, "Validation", "NLL, nats", "valid_nll"));
  add(epoch_chart(runs, "Validation error", "error, %", "valid_error", 100));
  if (charts.empty()) return "";
  return section("Learning curves",
                 "The training criterion is the mean over the epoch while the weights move, with "
                 "the M of training; validation is at the epoch's end, with the M of the test.",
                 figures(charts));
}

std::string particles(const Runs& runs) {
  std::vector<Chart> charts;
  Chart curve{.title = "C_hat against M",
              .x = {"M, particles", /*logarithmic=*/true},
              .y = {"C_hat on the test examples, nats"}};
  for (std::size_t r = 0; r < runs.size(); ++r) {
    if (!runs[r].measured || runs[r].measured->test.curve.size() < 2) continue;
    Series series{.name = runs[r].name, .color = int(r)};
    const std::vector<double>& values = runs[r].measured->test.curve;
    for (std::size_t k = 0; k < values.size(); ++k)
      series.points.push_back({double(k + 1), values[k]});
    curve.series.push_back(std::move(series));
  }
  if (!curve.series.empty()) charts.push_back(std::move(curve));
  if (auto chart = epoch_chart(runs, "Effective number of particles",
                               "1 / sum of squared responsibilities", "effective_particles")) {
    chart->y.low = 0;
    charts.push_back(std::move(*chart));
  }
  if (charts.empty()) return "";
  return section("Particles",
                 "C_hat rises towards log P(y|x) with M: a curve that still climbs at its end "
                 "means that more particles would show a better likelihood. The effective number, "
                 "between 1 and M, tells how many of the drawn particles explain an example.",
                 figures(charts));
}

// --- hidden units ------------------------------------------------------------------------------

Series histogram(const LayerActivity& layer, std::string name, int color, bool dashed) {
  Series series{
      .name = std::move(name), .color = color, .dashed = dashed, .shape = Series::Shape::steps};
  for (int b = 0; b <= LayerActivity::kBins; ++b) {
    const double share = layer.histogram[std::min(b, LayerActivity::kBins - 1)];
    series.points.push_back({double(b) / LayerActivity::kBins, 100 * share});
  }
  return series;
}

// One run: its layer before and after. Several: the layer after training of each.
std::vector<Chart> activity_charts(const Runs& runs) {
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
        chart.series.push_back(histogram(measured->drawn[l], "random weights", 7, true));
        chart.series.push_back(histogram(layer, "trained", 0, false));
      } else {
        chart.series.push_back(histogram(layer, runs[r].name, int(r), false));
      }
    }
    charts.push_back(std::move(chart));
  }
  return charts;
}

std::string activity_table(const Runs& runs) {
  Table table{.head = {"run", "layer", "stochastic units", "entropy, bits", "(random weights)",
                       "decided, %", "(random weights)", "stuck units, %"},
              .text_columns = 1};
  for (std::size_t r = 0; r < runs.size(); ++r) {
    if (!runs[r].measured) continue;
    for (std::size_t l = 0; l < runs[r].measured->trained.size(); ++l) {
      const LayerActivity& drawn = runs[r].measured->drawn[l];
      const LayerActivity& trained = runs[r].measured->trained[l];
      table.rows.push_back(
          {{named(runs, r), fmt::format("{}", trained.layer), fmt::format("{}", trained.units),
            fixed(trained.entropy, 3), fixed(drawn.entropy, 3), fixed(100 * trained.decided, 1),
            fixed(100 * drawn.decided, 1), fixed(100 * trained.stuck, 1)}});
    }
  }
  return card(to_html(table));
}

std::string hidden_units(const Runs& runs) {
  const std::vector<Chart> charts = activity_charts(runs);
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

// --- the rest ----------------------------------------------------------------------------------

std::string samples(const Runs& runs) {
  std::string html;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    if (runs[r].png.empty()) continue;
    html += fmt::format(
        "<figure><figcaption>{}</figcaption><img src=\"{}\" alt=\"Samples of {}\"></figure>\n",
        named(runs, r), png_data_uri(runs[r].png), escape(runs[r].name));
  }
  if (html.empty()) return "";
  return section("Samples",
                 "Each row: a test example, what the network was given of it, and what it makes of "
                 "that for several draws of the hidden units.",
                 fmt::format("<div class=\"figures\">\n{}</div>\n", html));
}

std::string config(const Runs& runs) {
  Table same, other;
  std::vector<std::vector<std::pair<std::string_view, std::string>>> texts;
  other.head = same.head = {"key"};
  for (std::size_t r = 0; r < runs.size(); ++r) {
    texts.push_back(key_texts(runs[r].config));
    other.head.push_back(named(runs, r));
  }
  same.head.push_back("value");
  for (std::size_t k = 0; k < texts.front().size(); ++k) {
    std::set<std::string> values;
    std::vector<std::string> cells = {escape(texts.front()[k].first)};
    for (const auto& of_run : texts) {
      values.insert(of_run[k].second);
      cells.push_back(escape(of_run[k].second));
    }
    if (values.size() > 1) {
      other.rows.push_back({std::move(cells), /*highlighted=*/true});
    } else {
      cells.resize(2);
      same.rows.push_back({std::move(cells)});
    }
  }
  if (runs.size() == 1) return section("Config", "Every value, as used.", card(to_html(same)));
  std::string html;
  if (!other.rows.empty()) html = to_html(other);
  html += fmt::format("<details><summary>{} values are the same in all runs</summary>{}</details>",
                      same.rows.size(), to_html(same));
  return section("Config",
                 other.rows.empty() ? "The runs have the same config." : "Where the runs differ.",
                 card(html));
}

std::string machine(const Runs& runs, const ReportOrigin& origin) {
  Table table{.head = {"run", "started", "from step", "device", "CPU", "version"}};
  for (std::size_t r = 0; r < runs.size(); ++r) {
    for (const MetricsLine& line : runs[r].sessions) {
      table.rows.push_back(
          {{named(runs, r), text_in(line, "started"), text_in(line, "step"),
            text_in(line, "device"), text_in(line, "cpu"), text_in(line, "version")}});
    }
  }
  const std::string here =
      fmt::format("Test figures and hidden units were measured for this page on {}, {}.",
                  escape(origin.device), escape(origin.date));
  return section("Machine", here, table.rows.empty() ? "" : card(to_html(table)));
}

std::string swatch_style() {
  std::string css;
  for (int c = 0; c < kColors; ++c) {
    css += fmt::format(
        "svg .line.c{0}{{stroke:var(--c{0})}}svg .area.c{0},svg .mark.c{0}{{fill:var(--c{0})}}"
        ".b{0}{{background:var(--c{0})}}\n",
        c);
  }
  return css;
}

std::string title_of(const Runs& runs) {
  if (runs.size() == 1) return escape(runs[0].name);
  return fmt::format("{} runs compared", runs.size());
}

std::string data_of(const Runs& runs) {
  std::set<std::string> names;
  for (const ReportRun& run : runs)
    names.insert(escape(run.measured ? run.measured->data_name : run.config.data.set));
  return fmt::format("{}", fmt::join(names, "; "));
}

}  // namespace

std::string report_page(const std::vector<ReportRun>& runs, const ReportOrigin& origin) {
  const std::string title = title_of(runs);
  // The policy forbids every request: the page is whole, and nothing in a run can change that.
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; img-src data:\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>sfnn report: {0}</title>\n<style>{1}{2}</style>\n</head>\n<body>\n<header><h1>{0}"
      "</h1>\n",
      title, kReportStyle, swatch_style());
  html += fmt::format("<p>{}. sfnn {}, {}</p></header>\n", data_of(runs), escape(origin.version),
                      escape(origin.date));
  html += final_figures(runs) + learning(runs) + particles(runs) + hidden_units(runs) +
          samples(runs) + config(runs) + machine(runs, origin);
  return html + "</body>\n</html>\n";
}

}  // namespace sfnn
