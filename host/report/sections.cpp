#include "host/report/sections.hpp"

#include <fmt/format.h>

#include <cmath>

#include "host/report/chart.hpp"
#include "host/report/html.hpp"

namespace sfnn {

std::string fixed(std::optional<double> value, int digits) {
  if (!value) return std::string(kNothing);
  return fmt::format("{}{:.{}f}", *value < 0 ? kMinus : "", std::abs(*value), digits);
}

std::optional<Evaluation> test_of(const ReportRun& run) {
  return run.measured ? run.measured->test : run.own_test;
}

bool draws_in_test(const ReportRun& run) {
  return run.network.samples() || run.config.eval.as_stochastic;
}

std::string section(std::string_view title, std::string_view text, const std::string& content) {
  return fmt::format("<section>\n<h2>{}</h2>\n<p>{}</p>\n{}</section>\n", title, text, content);
}

std::string card(const std::string& content) {
  return fmt::format("<div class=\"card\">{}</div>\n", content);
}

std::string named(const Runs& runs, std::size_t r) {
  return fmt::format("<span class=\"swatch b{}\"></span>{}", r % kColors, escape(runs[r].name));
}

}  // namespace sfnn
