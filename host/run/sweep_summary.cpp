// Mean and spread over the seeds of a sweep.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "host/base/statistics.hpp"
#include "host/run/sweep.hpp"

namespace sfnn {
namespace {

struct Figure {
  const char* head;
  const char* key;  // in summary.csv
  std::function<std::optional<double>(const SweepOutcome&)> value;
  int digits = 3;
};

std::vector<Figure> figures() {
  const auto test = [](auto member) {
    return [member](const SweepOutcome& outcome) -> std::optional<double> {
      return outcome.test ? member(*outcome.test) : std::nullopt;
    };
  };
  using E = const Evaluation&;
  return {
      {"valid NLL", "valid_nll", [](const SweepOutcome& o) { return o.valid_nll; }},
      {"test NLL", "test_nll", test([](E e) { return std::optional(e.nll); })},
      {"test error, %", "test_error_percent",
       test([](E e) { return e.error ? std::optional(100 * *e.error) : std::nullopt; }), 2},
      {"criterion SSE", "test_criterion_sse", test([](E e) { return e.criterion_sse; })},
      {"SSE of the mean", "test_mean_sse", test([](E e) { return e.mean_sse; })},
      {"valid NLL by R", "valid_nll_proposal",
       [](const SweepOutcome& o) { return o.valid_nll_proposal; }},
      {"test NLL by R", "test_nll_proposal",
       test([](E e) { return e.proposal ? std::optional(e.proposal->nll) : std::nullopt; })},
      {"effective", "test_effective_particles", test([](E e) {
         const bool counted = e.proposal && e.proposal->effective_particles;
         return counted ? std::optional(e.effective_particles) : std::nullopt;
       }),
       2},
      {"effective by R", "test_effective_particles_proposal",
       test([](E e) { return e.proposal ? e.proposal->effective_particles : std::nullopt; }), 2}};
}

struct Row {
  std::string settings;
  std::size_t finished = 0, runs = 0;
  std::vector<std::vector<double>> values;  // per figure, one per finished run
};

std::vector<Row> rows_of(const SweepPlan& plan, const std::vector<SweepOutcome>& outcomes,
                         const std::vector<Figure>& figures) {
  std::vector<Row> rows;
  for (const auto& point : plan.points) {
    const std::string settings = fmt::format("{}", fmt::join(point, " "));
    rows.push_back({.settings = settings.empty() ? "all" : settings,
                    .values = std::vector<std::vector<double>>(figures.size())});
  }
  const std::vector<SweepRun> runs = runs_of(plan);
  for (std::size_t r = 0; r < runs.size(); ++r) {
    Row& row = rows[runs[r].point];
    ++row.runs;
    if (outcomes[r].end != SweepOutcome::End::finished) continue;
    ++row.finished;
    for (std::size_t f = 0; f < figures.size(); ++f)
      if (const auto value = figures[f].value(outcomes[r])) row.values[f].push_back(*value);
  }
  return rows;
}

std::string cell_of(const std::vector<double>& values, int digits) {
  if (values.empty()) return "-";
  std::string text = fmt::format("{:.{}f}", mean_of(values), digits);
  if (const auto sd = deviation_of(values)) text += fmt::format(" +- {:.{}f}", *sd, digits);
  return text;
}

}  // namespace

std::string summary_table(const SweepPlan& plan, const std::vector<SweepOutcome>& outcomes) {
  const std::vector<Figure> all = figures();
  const std::vector<Row> rows = rows_of(plan, outcomes, all);
  std::vector<std::vector<std::string>> cells = {{"settings", "runs"}};
  for (const Row& row : rows)
    cells.push_back({row.settings, row.finished == row.runs
                                       ? fmt::format("{}", row.runs)
                                       : fmt::format("{} of {}", row.finished, row.runs)});
  for (std::size_t f = 0; f < all.size(); ++f) {
    if (std::ranges::all_of(rows, [&](const Row& row) { return row.values[f].empty(); })) continue;
    cells[0].emplace_back(all[f].head);
    for (std::size_t r = 0; r < rows.size(); ++r)
      cells[r + 1].push_back(cell_of(rows[r].values[f], all[f].digits));
  }
  std::vector<std::size_t> widths(cells[0].size());
  for (const auto& row : cells)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  std::string text;
  for (const auto& row : cells) {
    text += fmt::format("{:<{}}", row[0], widths[0]);
    for (std::size_t c = 1; c < row.size(); ++c) text += fmt::format("  {:>{}}", row[c], widths[c]);
    text += '\n';
  }
  return text;
}

std::string summary_csv(const SweepPlan& plan, const std::vector<SweepOutcome>& outcomes) {
  const std::vector<Figure> all = figures();
  std::string csv = "settings,runs,finished";
  for (const Figure& figure : all) csv += fmt::format(",{0}_mean,{0}_sd", figure.key);
  csv += '\n';
  for (const Row& row : rows_of(plan, outcomes, all)) {
    std::string settings;
    for (const char letter : row.settings)
      settings += letter == '"' ? "\"\"" : std::string(1, letter);
    csv += fmt::format("\"{}\",{},{}", settings, row.runs, row.finished);
    for (const std::vector<double>& values : row.values) {
      const auto sd = deviation_of(values);
      csv += fmt::format(",{},{}", values.empty() ? "" : fmt::format("{}", mean_of(values)),
                         sd ? fmt::format("{}", *sd) : "");
    }
    csv += '\n';
  }
  return csv;
}

}  // namespace sfnn
