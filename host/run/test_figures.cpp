#include "host/run/test_figures.hpp"

#include <fmt/format.h>

namespace sfnn {

std::string test_figures(const Evaluation& test) {
  std::string text = fmt::format("NLL {:.3f} (M = {})", test.nll, test.particles);
  if (test.error) text += fmt::format(", error {:.2f} %", 100 * *test.error);
  if (test.criterion_sse) text += fmt::format(", criterion SSE {:.3f}", *test.criterion_sse);
  if (test.mean_sse) text += fmt::format(", SSE of the mean {:.3f}", *test.mean_sse);
  return text;
}

void add_test(EpochRecord& record, const Evaluation& test) {
  record.test_nll = test.nll;
  record.test_error = test.error;
  record.test_criterion_sse = test.criterion_sse;
  record.test_mean_sse = test.mean_sse;
  record.test_particles = test.particles;
}

std::optional<Evaluation> test_in(const EpochRecord& record) {
  if (!record.test_nll) return std::nullopt;
  return Evaluation{.particles = record.test_particles.value_or(0),
                    .nll = *record.test_nll,
                    .error = record.test_error,
                    .criterion_sse = record.test_criterion_sse,
                    .mean_sse = record.test_mean_sse};
}

}  // namespace sfnn
