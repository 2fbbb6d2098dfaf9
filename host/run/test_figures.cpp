#include "host/run/test_figures.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sfnn {

std::string test_figures(const Evaluation& test) {
  std::string text = fmt::format("NLL {:.3f} (M = {})", test.nll, test.particles);
  if (test.error) text += fmt::format(", error {:.2f} %", 100 * *test.error);
  if (test.criterion_sse) text += fmt::format(", criterion SSE {:.3f}", *test.criterion_sse);
  if (test.mean_sse) text += fmt::format(", SSE of the mean {:.3f}", *test.mean_sse);
  return text;
}

void add_test(MetricsLine& line, const Evaluation& test) {
  line["test_nll"] = test.nll;
  if (test.error) line["test_error"] = *test.error;
  if (test.criterion_sse) line["test_criterion_sse"] = *test.criterion_sse;
  if (test.mean_sse) line["test_mean_sse"] = *test.mean_sse;
  line["test_particles"] = test.particles;
}

std::optional<Evaluation> test_in(const MetricsLine& line) {
  const auto number = [&](const char* key) -> std::optional<double> {
    const auto found = line.find(key);
    return found != line.end() && found->is_number() ? std::optional(found->get<double>())
                                                     : std::nullopt;
  };
  const auto nll = number("test_nll");
  if (!nll) return std::nullopt;
  const double particles = number("test_particles").value_or(0);
  return Evaluation{.particles = std::int64_t(std::clamp(particles, 0.0, 2147483647.0)),
                    .nll = *nll,
                    .error = number("test_error"),
                    .criterion_sse = number("test_criterion_sse"),
                    .mean_sse = number("test_mean_sse")};
}

}  // namespace sfnn
