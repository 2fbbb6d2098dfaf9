#include "host/report/page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <unordered_map>

#include "host/report/chart.hpp"
#include "host/report/html.hpp"
#include "host/report/sections.hpp"
#include "host/report/style.hpp"

namespace sfnn {
namespace {

std::string cell(const std::optional<std::string>& text) {
  return text ? escape(*text) : std::string(kNothing);
}
std::string cell(std::optional<std::uint64_t> count) {
  return count ? fmt::format("{}", *count) : std::string(kNothing);
}

// --- warnings ----------------------------------------------------------------------------------

// Each warning once, with the epochs that had it.
std::string warnings(const Runs& runs) {
  std::string items;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    std::vector<std::pair<std::string, std::size_t>> counts;  // in the order of their appearance
    std::unordered_map<std::string, std::size_t> known;       // index in counts
    for (const EpochRecord& epoch : runs[r].metrics) {
      for (const std::string& text : epoch.warnings) {
        const auto [place, is_new] = known.emplace(text, counts.size());
        if (is_new) counts.emplace_back(text, 0);
        ++counts[place->second].second;
      }
    }
    for (const auto& [text, count] : counts) {
      items += fmt::format("<li>{}: {}, in {} of {} epochs</li>\n", named(runs, r), escape(text),
                           count, runs[r].metrics.size());
    }
  }
  if (items.empty()) return "";
  return section("Warnings",
                 "Seen at the end of an epoch, on examples that are not part of the test.",
                 card(fmt::format("<ul>\n{}</ul>\n", items)));
}

// --- the search for the learning rate -----------------------------------------------------------

std::string rate_search(const Runs& runs) {
  Table table{.head = {"run", "rate", "epochs", "valid NLL", "end"}, .text_columns = 1};
  for (std::size_t r = 0; r < runs.size(); ++r) {
    for (const RateTrial& trial : runs[r].trials) {
      const bool chosen = trial.rate == runs[r].config.train.learning_rate;
      const std::string rate = fmt::format("{}", trial.rate);
      table.rows.push_back(
          {{named(runs, r), chosen ? fmt::format("<span class=\"best\">{}</span>", rate) : rate,
            fmt::format("{}", trial.valid_nll.size()), fixed(trial.valid_nll.back(), 2),
            words_for(trial)}});
    }
  }
  if (table.rows.empty()) return "";
  return section(
      "Search for the learning rate",
      "A short run of each rate, compared on the validation examples. Bold: the one that "
      "the run was trained with.",
      card(to_html(table)));
}

// --- the rest ----------------------------------------------------------------------------------

std::string samples(const Runs& runs) {
  std::string html;
  const auto add = [&](std::size_t r, const char* how, const std::string& png) {
    if (png.empty()) return;
    html += fmt::format(
        "<figure><figcaption>{}{}</figcaption><img src=\"{}\" alt=\"Samples of {}\"></figure>\n",
        named(runs, r), how, png_data_uri(png), escape(runs[r].name));
  };
  for (std::size_t r = 0; r < runs.size(); ++r) {
    add(r, "", runs[r].png);
    add(r, ", hidden units drawn from R, which knows the answer", runs[r].posterior_png);
  }
  if (html.empty()) return "";
  const bool given =
      std::ranges::any_of(runs, [](const ReportRun& run) { return run.network.D_in > 0; });
  return section("Samples",
                 given
                     ? "Each row: a test example, what the network was given of it (if that is a "
                       "picture), and what it makes of that for several draws of the hidden units."
                     : "Each cell: one draw of the hidden units, given nothing.",
                 fmt::format("<div class=\"figures\">\n{}</div>\n", html));
}

// Keys of the config that have no effect on this run.
std::set<std::string_view> idle_keys(const ReportRun& run) {
  std::set<std::string_view> keys;
  if (!run.network.trains_s())
    keys.insert({"train.estimator", "train.c", "train.temperature", "train.baseline_decay"});
  if (!run.network.samples()) keys.insert({"train.particles", "train.drop_below"});
  if (run.config.train.proposal.on) keys.insert({"train.estimator", "train.baseline_decay"});
  if (!run.config.train.proposal.on)
    keys.insert({"proposal.hidden", "proposal.learning_rate", "proposal.particles_from_P",
                 "proposal.rule", "eval.select"});
  if (!draws_in_test(run)) keys.insert("eval.particles");
  const TrainOptions& train = run.config.train;
  if (row_of(train.optimizer).is_adam()) {
    keys.insert("train.momentum");
  } else {
    keys.insert({"train.beta1", "train.beta2", "train.epsilon"});
  }
  if (train.schedule != ScheduleKind::steps)
    keys.insert({"train.step_epochs", "train.step_factor"});
  if (train.weight_decay == 0) keys.insert("train.decay_biases");
  if (train.ema == 0) keys.insert("eval.weights");
  return keys;
}

std::string config(const Runs& runs) {
  Table same, other;
  std::vector<std::vector<std::pair<std::string_view, std::string>>> texts;
  other.head = same.head = {"key"};
  for (std::size_t r = 0; r < runs.size(); ++r) {
    texts.push_back(key_texts(runs[r].config));
    const std::set<std::string_view> idle = idle_keys(runs[r]);
    for (auto& [key, text] : texts.back())
      if (idle.contains(key)) text = kNothing;
    other.head.push_back(named(runs, r));
  }
  same.head.push_back("value");
  for (std::size_t k = 0; k < texts.front().size(); ++k) {
    std::set<std::string> values;  // of the runs on which the key has an effect
    std::vector<std::string> cells = {escape(texts.front()[k].first)};
    for (const auto& of_run : texts) {
      if (of_run[k].second != kNothing) values.insert(of_run[k].second);
      cells.push_back(escape(of_run[k].second));
    }
    if (values.size() > 1) {
      other.rows.push_back({std::move(cells), /*highlighted=*/true});
    } else {
      same.rows.push_back({{cells[0], escape(values.empty() ? kNothing : *values.begin())}});
    }
  }
  if (runs.size() == 1) {
    Table unused{.head = same.head};
    std::erase_if(same.rows, [&](const Table::Row& row) {
      const bool is_unused = row.cells[1].empty() || row.cells[1] == kNothing;
      if (is_unused) unused.rows.push_back(row);
      return is_unused;
    });
    return section(
        "Config", "Every value, as used.",
        card(to_html(same) +
             fmt::format("<details><summary>{} keys are not set, or have no effect on this "
                         "network</summary>{}</details>",
                         unused.rows.size(), to_html(unused))));
  }
  std::string html;
  if (!other.rows.empty()) html = to_html(other);
  html += fmt::format("<details><summary>{} values are the same in all runs</summary>{}</details>",
                      same.rows.size(), to_html(same));
  return section("Config",
                 other.rows.empty() ? "The runs have the same config."
                                    : "Values that differ between the runs.",
                 card(html));
}

std::string machine(const Runs& runs, const ReportOrigin& origin) {
  Table table{.head = {"run", "started", "from step", "device", "CPU", "version"}};
  for (std::size_t r = 0; r < runs.size(); ++r) {
    for (const SessionRecord& session : runs[r].sessions) {
      table.rows.push_back({{named(runs, r), cell(session.started), cell(session.step),
                             cell(session.device), cell(session.cpu), cell(session.version)}});
    }
  }
  const bool measured =
      std::ranges::any_of(runs, [](const ReportRun& run) { return run.measured.has_value(); });
  const std::string here =
      fmt::format("{} on {}, {}.",
                  measured ? "Test figures and hidden units were measured for this page"
                           : "This page was written",
                  escape(origin.device), escape(origin.date));
  return section("Machine", here, table.rows.empty() ? "" : card(to_html(table)));
}

std::string title_of(const Runs& runs) {
  if (runs.size() == 1) return escape(runs[0].name);
  return fmt::format("{} runs compared", runs.size());
}

std::string data_of(const Runs& runs) {
  std::set<std::string> names;
  for (const ReportRun& run : runs)
    names.insert(escape(fmt::format("{}; inputs: {}",
                                    run.measured ? run.measured->data_name : run.config.data.set,
                                    describe_inputs(run.network.D_in, run.x_bytes))));
  return fmt::format("{}", fmt::join(names, " | "));
}

std::string style() {
  return fmt::format("{}{}{}{}", color_scheme(), kPageStyle, kChartStyle, color_style());
}

}  // namespace

std::string report_page(const std::vector<ReportRun>& runs, const ReportOrigin& origin) {
  const std::string title = title_of(runs);
  // The policy forbids every request: the page is complete, and nothing in a run can change that.
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; img-src data:\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n{2}"
      "<title>sfnn report: "
      "{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<header><h1>{0}</h1>\n",
      title, style(),
      origin.reload_seconds > 0
          ? fmt::format("<meta http-equiv=\"refresh\" content=\"{}\">\n", origin.reload_seconds)
          : "");
  if (origin.reload_seconds > 0)
    html += fmt::format(
        "<p class=\"live\">In training: {} of {} epochs are done. This page reloads itself every "
        "{} "
        "s.</p>\n",
        runs.front().state.epoch, runs.front().config.train.epochs, origin.reload_seconds);
  html += fmt::format(
      "<p>{}. <span class=\"whole\">sfnn {},</span> <span class=\"whole\">{}</span></p></header>\n",
      data_of(runs), escape(origin.version), escape(origin.date));
  html += seeds_section(runs) + final_section(runs, origin) + warnings(runs) +
          learning_section(runs) + confusion_section(runs) + particles_section(runs) +
          hidden_units_section(runs) + samples(runs) + rate_search(runs) + config(runs) +
          machine(runs, origin);
  return html + "</body>\n</html>\n";
}

}  // namespace sfnn
