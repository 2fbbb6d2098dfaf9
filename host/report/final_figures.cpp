// The report's first table: what each run measured, runs that were tested alike under one heading.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>

#include "host/base/duration.hpp"
#include "host/report/html.hpp"
#include "host/report/sections.hpp"

namespace sfnn {
namespace {

struct Column {
  std::string head;
  std::function<std::optional<double>(const ReportRun&)> value;
  int digits = 2;
  bool lower_is_better = false;
  std::function<std::optional<double>(const ReportRun&)> standard_error = {};
};

std::int64_t draws_of(const Runs& runs) {
  std::int64_t draws = 1;
  for (const ReportRun& run : runs)
    if (run.measured) draws = std::max(draws, run.measured->test.draws);
  return draws;
}

// "55.43 \u00b1 0.12"
std::string text_of(const Column& column, const ReportRun& run) {
  std::string text = fixed(column.value(run), column.digits);
  if (const auto error = column.standard_error ? column.standard_error(run) : std::nullopt)
    text += fmt::format(" \u00b1 {:.{}f}", *error, column.digits);
  return text;
}

std::vector<Column> columns_of(const Runs& runs) {
  const auto test = [](auto member) {
    return [member](const ReportRun& run) -> std::optional<double> {
      const auto found = test_of(run);
      return found ? member(*found) : std::nullopt;
    };
  };
  const auto error = [test](std::optional<double> EvaluationErrors::*figure, double factor = 1) {
    return test([=](const Evaluation& e) -> std::optional<double> {
      const std::optional<double> value = e.standard_error.*figure;
      return value ? std::optional(factor * *value) : std::nullopt;
    });
  };
  // As the run itself found it.
  const auto own = [](std::optional<double> EpochRecord::*figure, double factor = 1) {
    return [figure, factor](const ReportRun& run) -> std::optional<double> {
      if (run.metrics.empty() || !(run.metrics.back().*figure)) return std::nullopt;
      return factor * *(run.metrics.back().*figure);
    };
  };
  const auto spread = [](const Evaluation& e) { return e.draw_sd.nll; };
  const auto count = [](std::int64_t n) { return n > 0 ? std::optional(double(n)) : std::nullopt; };
  const auto best_valid = [](bool by_R) {
    return [by_R](const ReportRun& run) -> std::optional<double> {
      return run.config.selects_by_proposal() == by_R ? run.state.best_valid_nll : std::nullopt;
    };
  };
  using E = const Evaluation&;
  std::vector<Column> columns = {
      {"test NLL", test([](E e) { return std::optional(e.nll); }), 2, true,
       error(&EvaluationErrors::nll)},
      {"test NLL bound by R",
       test([](E e) { return e.proposal ? std::optional(e.proposal->nll) : std::nullopt; }), 2,
       true, test([](E e) { return e.proposal ? e.proposal->nll_se : std::nullopt; })},
      {fmt::format("sd of NLL over {} draws", draws_of(runs)), test(spread), 3},
      {"test error, %",
       test([](E e) { return e.error ? std::optional(100 * *e.error) : std::nullopt; }), 2, true,
       error(&EvaluationErrors::error, 100)},
      {"test NLL of the average", own(&EpochRecord::average_test_nll), 2, true,
       own(&EpochRecord::average_test_nll_se)},
      {"test NLL bound of the average by R", own(&EpochRecord::average_test_nll_proposal), 2, true,
       own(&EpochRecord::average_test_nll_proposal_se)},
      {"test error of the average, %", own(&EpochRecord::average_test_error, 100), 2, true,
       own(&EpochRecord::average_test_error_se, 100)},
      {"test error of the best, %", own(&EpochRecord::best_test_error, 100), 2, true},
      {"criterion SSE", test([](E e) { return e.criterion_sse; }), 2, true,
       error(&EvaluationErrors::criterion_sse)},
      {"SSE of the mean", test([](E e) { return e.mean_sse; }), 2, true,
       error(&EvaluationErrors::mean_sse)},
      {"sigma", test([](E e) { return e.sigma; }), 4},
      {"test examples", test([count](E e) { return count(e.examples); }), 0},
      {"test M", test([](E e) { return std::optional(double(e.particles)); }), 0},
      {"effective particles, test",
       [](const ReportRun& run) {
         return run.measured ? std::optional(run.measured->test.effective_particles) : std::nullopt;
       }},
      {"effective particles by R, test",
       test([](E e) { return e.proposal ? e.proposal->effective_particles : std::nullopt; })},
      {"effective particles of the average, test",
       own(&EpochRecord::average_test_effective_particles)},
      {"effective particles of the average by R, test",
       own(&EpochRecord::average_test_effective_particles_proposal)},
      {"valid NLL, best", best_valid(/*by_R=*/false), 2, true},
      {"valid NLL bound by R, best", best_valid(/*by_R=*/true), 2, true},
      {"train C_hat", own(&EpochRecord::train_c_hat)},
      {"train C_hat by R", own(&EpochRecord::train_c_hat_proposal)}};
  std::erase_if(columns, [&](const Column& column) {
    return std::none_of(runs.begin(), runs.end(),
                        [&](const ReportRun& run) { return column.value(run).has_value(); });
  });
  return columns;
}

// --- runs that were tested alike ---------------------------------------------------------------

// What a test depends on, apart from the network, by name; empty if it does not matter: figures of
// different tests, or of different M, do not show which run is better.
using Test = std::vector<std::pair<std::string, std::string>>;

Test tested_on(const ReportRun& run, const std::vector<std::string>& settings) {
  const auto test = test_of(run);
  const bool counted = test && test->examples > 0;
  const Config config = run.measured ? changed(run.config, settings) : run.config;
  Test facts = {{"data", run.measured ? run.measured->data_name : config.data.set},
                {"test examples", counted ? fmt::format("{}", test->examples) : ""},
                {"M", fmt::format("{}", test ? test->particles : config.eval.particles)}};
  // Of training; figures are in the targets' own units.
  std::set<std::string_view> idle = {"data.limit", "data.noise", "data.center", "data.standardize"};
  if (counted) idle.insert("data.test_limit");
  for (const auto& [key, text] : key_texts(config))
    if (key.starts_with("data.")) facts.emplace_back(key, idle.contains(key) ? "" : text);
  facts.emplace_back("eval.particles", fmt::format("{}", config.eval.particles));
  return facts;
}

struct TestGroup {
  Test test;
  std::vector<std::size_t> runs;
};

std::vector<TestGroup> by_test(const Runs& runs, const std::vector<std::string>& settings) {
  std::vector<TestGroup> groups;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const Test test = tested_on(runs[r], settings);
    auto group = std::ranges::find(groups, test, &TestGroup::test);
    if (group == groups.end()) group = groups.insert(group, TestGroup{test});
    group->runs.push_back(r);
  }
  return groups;
}

// What sets the group apart from the others.
std::string heading_of(const TestGroup& group, const std::vector<TestGroup>& groups) {
  std::vector<std::string> facts;
  for (std::size_t k = 0; k < group.test.size(); ++k) {
    const auto& [name, text] = group.test[k];
    const bool differs = std::ranges::any_of(
        groups, [&](const TestGroup& other) { return other.test[k].second != text; });
    if (differs && !text.empty()) facts.push_back(fmt::format("{} = {}", name, text));
  }
  return escape(fmt::format("Tested with {}", fmt::join(facts, ", ")));
}

// Is the value the lowest of its group, and is there another?
bool is_best(const Runs& runs, const TestGroup& group, std::size_t r, const Column& column) {
  const auto value = column.value(runs[r]);
  if (!column.lower_is_better || !value) return false;
  std::size_t others = 0;
  for (const std::size_t k : group.runs) {
    const auto other = column.value(runs[k]);
    if (k == r || !other) continue;
    if (*other < *value) return false;
    ++others;
  }
  return others > 0;
}

// --- the table ---------------------------------------------------------------------------------

std::string name_cell(const Runs& runs, std::size_t r) {
  return fmt::format("{}<br><span class=\"soft\">{}</span>", named(runs, r),
                     escape(to_string(runs[r].network)));
}

std::vector<std::string> cells_of(const Runs& runs, const TestGroup& group, std::size_t r,
                                  const std::vector<Column>& columns) {
  const ReportRun& run = runs[r];
  const TrainOptions& train = run.config.train;
  std::vector<std::string> cells = {name_cell(runs, r)};
  for (const Column& column : columns) {
    const std::string text = text_of(column, run);
    cells.push_back(is_best(runs, group, r, column)
                        ? fmt::format("<span class=\"best\">{}</span>", text)
                        : text);
  }
  cells.push_back(run.network.trains_s() || train.proposal.on ? training_name(train)
                                                              : std::string(kNothing));
  cells.push_back(run.network.samples() ? fmt::format("{}", train.particles)
                                        : std::string(kNothing));
  cells.push_back(run.state.epoch < train.epochs
                      ? fmt::format("{} of {}", run.state.epoch, train.epochs)
                      : fmt::format("{}", run.state.epoch));
  cells.push_back(fmt::format("{}", ParamLayout(run.network).parameter_count()));
  cells.push_back(duration(run.state.seconds));
  return cells;
}

std::string notes_of(const Runs& runs, const ReportOrigin& origin) {
  std::string notes;
  if (!origin.settings.empty()) {
    notes += fmt::format(
        "<p>The test figures, hidden units and samples of this page were made with {}, which is "
        "not "
        "part of the runs' configs.</p>\n",
        escape(fmt::format("{}", fmt::join(origin.settings, ", "))));
  }
  for (const ReportRun& run : runs) {
    if (!run.note.empty())
      notes += fmt::format("<p>{}: {}</p>\n", escape(run.name), escape(run.note));
  }
  return notes;
}

}  // namespace

std::string final_csv(const Runs& runs) {
  const std::vector<Column> columns = columns_of(runs);
  const auto number = [](const auto& value, const ReportRun& run) {
    const auto found = value ? value(run) : std::nullopt;
    return found ? fmt::format(",{}", *found) : std::string(",");
  };
  std::string text = "run";
  for (const Column& column : columns) {
    text += fmt::format(",{}", csv_cell(column.head));
    if (column.standard_error)
      text += fmt::format(",{}", csv_cell(fmt::format("standard error of {}", column.head)));
  }
  for (const ReportRun& run : runs) {
    text += fmt::format("\n{}", csv_cell(run.name));
    for (const Column& column : columns) {
      text += number(column.value, run);
      if (column.standard_error) text += number(column.standard_error, run);
    }
  }
  return text + "\n";
}

std::string final_section(const Runs& runs, const ReportOrigin& origin) {
  const std::vector<Column> columns = columns_of(runs);
  const std::vector<TestGroup> groups = by_test(runs, origin.settings);
  Table table{.head = {"run"}, .text_columns = 1};
  for (const Column& column : columns) table.head.push_back(column.head);
  for (const char* head : {"estimator", "M of training", "epochs", "parameters", "time"})
    table.head.emplace_back(head);
  for (const TestGroup& group : groups) {
    if (groups.size() > 1)
      table.rows.push_back({.cells = {heading_of(group, groups)}, .is_heading = true});
    for (const std::size_t r : group.runs)
      table.rows.push_back({.cells = cells_of(runs, group, r, columns)});
  }
  const char* bold = groups.size() > 1
                         ? " Runs under one heading were tested alike, and only those can be "
                           "compared; bold: the best of them."
                     : runs.size() > 1 ? " Bold: the best; all runs were tested alike."
                                       : "";
  return section(
      "Final figures",
      fmt::format(
          "Nats per example. C_hat is the estimate of log P(y|x) from M draws of "
          "the hidden units, NLL is \u2212C_hat with the M of the test; \u00b1 is the standard "
          "error over the test examples.{}",
          bold),
      card(to_html(table)) + notes_of(runs, origin));
}

}  // namespace sfnn
