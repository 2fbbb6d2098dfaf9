// Runs that differ in the seed alone: mean and spread over them.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "host/base/statistics.hpp"
#include "host/report/chart.hpp"
#include "host/report/html.hpp"
#include "host/report/sections.hpp"

namespace sfnn {
namespace {

// The name of a sweep's run without its seed: "estimator=G3_seed=1" is one of "estimator=G3".
std::string without_seed(const ReportRun& run) {
  const std::string ending = fmt::format("seed={}", run.config.train.seed);
  std::string name = run.name;
  if (!name.ends_with(ending)) return name;
  name.resize(name.size() - ending.size());
  if (name.ends_with('_')) name.pop_back();
  return name.empty() ? "all seeds" : name;
}

std::string name_of(const Runs& runs, const SeedGroup& group) {
  const ReportRun& first = runs[group.runs.front()];
  if (group.runs.size() == 1) return first.name;
  return fmt::format("{} ({} seeds)", without_seed(first), group.runs.size());
}

std::string cell_of(std::vector<double> values, int digits) {
  if (values.empty()) return std::string(kNothing);
  const auto sd = deviation_of(values);
  return fixed(mean_of(values), digits) + (sd ? fmt::format(" \u00b1 {:.{}f}", *sd, digits) : "");
}

struct Figure {
  const char* head;
  std::function<std::optional<double>(const ReportRun&)> value;
};

std::vector<Figure> figures() {
  const auto test = [](auto member) {
    return [member](const ReportRun& run) -> std::optional<double> {
      const auto found = test_of(run);
      return found ? member(*found) : std::nullopt;
    };
  };
  using E = const Evaluation&;
  const auto best_valid = [](bool by_R) {
    return [by_R](const ReportRun& run) -> std::optional<double> {
      return run.config.selects_by_proposal() == by_R ? run.state.best_valid_nll : std::nullopt;
    };
  };
  return {{"test NLL", test([](E e) { return std::optional(e.nll); })},
          {"test NLL bound by R",
           test([](E e) { return e.proposal ? std::optional(e.proposal->nll) : std::nullopt; })},
          {"test error, %",
           test([](E e) { return e.error ? std::optional(100 * *e.error) : std::nullopt; })},
          {"SSE of the mean", test([](E e) { return e.mean_sse; })},
          {"valid NLL, best", best_valid(/*by_R=*/false)},
          {"valid NLL bound by R, best", best_valid(/*by_R=*/true)}};
}

}  // namespace

std::vector<SeedGroup> by_seed(const Runs& runs) {
  const auto without_seed_of = [](Config config) {
    config.train.seed = 0;
    return config_hash(config);
  };
  std::vector<SeedGroup> groups;
  std::vector<std::uint64_t> hashes;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const std::uint64_t hash = without_seed_of(runs[r].config);
    // The same seed again is the same run, or one of another program: it says nothing of spread.
    const auto takes = [&](const SeedGroup& group) {
      return hashes[std::size_t(&group - groups.data())] == hash &&
             std::ranges::none_of(group.runs, [&](std::size_t k) {
               return runs[k].config.train.seed == runs[r].config.train.seed;
             });
    };
    const auto group = std::ranges::find_if(groups, takes);
    if (group != groups.end()) {
      group->runs.push_back(r);
    } else {
      hashes.push_back(hash);
      groups.push_back({"", {r}});
    }
  }
  for (SeedGroup& group : groups) group.name = name_of(runs, group);
  return groups;
}

std::string seeds_section(const Runs& runs) {
  const std::vector<SeedGroup> groups = by_seed(runs);
  if (groups.size() == runs.size()) return "";
  Table table{.head = {"runs"}, .text_columns = 1};
  for (const SeedGroup& group : groups)
    table.rows.push_back({{fmt::format("<span class=\"swatch b{}\"></span>{}",
                                       group.runs.front() % kColors, escape(group.name))}});
  for (const Figure& figure : figures()) {
    std::vector<std::string> cells;
    for (const SeedGroup& group : groups) {
      std::vector<double> values;
      for (const std::size_t r : group.runs)
        if (const auto value = figure.value(runs[r])) values.push_back(*value);
      cells.push_back(cell_of(std::move(values), 3));
    }
    if (std::ranges::all_of(cells, [](const std::string& cell) { return cell == kNothing; }))
      continue;
    table.head.emplace_back(figure.head);
    for (std::size_t g = 0; g < groups.size(); ++g)
      table.rows[g].cells.push_back(std::move(cells[g]));
  }
  return section("Seeds", "Mean \u00b1 standard deviation over runs that differ in the seed alone.",
                 card(to_html(table)));
}

}  // namespace sfnn
