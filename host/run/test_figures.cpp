#include "host/run/test_figures.hpp"

#include <fmt/format.h>

namespace sfnn {

namespace {

// " \u00b1 0.121"; empty if there is no error.
std::string plus_minus(std::optional<double> error, int digits, double factor = 1) {
  return error ? fmt::format(" \u00b1 {:.{}f}", factor * *error, digits) : "";
}

}  // namespace

std::string test_figures(const Evaluation& test) {
  const EvaluationErrors& errors = test.standard_error;
  std::string text =
      fmt::format("NLL {:.3f}{} (M = {}{})", test.nll, plus_minus(errors.nll, 3), test.particles,
                  test.examples > 0 ? fmt::format(", {} examples", test.examples) : "");
  if (test.error)
    text += fmt::format(", error {:.2f}{} %", 100 * *test.error, plus_minus(errors.error, 2, 100));
  if (test.criterion_sse) {
    text += fmt::format(", criterion SSE {:.3f}{}", *test.criterion_sse,
                        plus_minus(errors.criterion_sse, 3));
  }
  if (test.mean_sse)
    text +=
        fmt::format(", SSE of the mean {:.3f}{}", *test.mean_sse, plus_minus(errors.mean_sse, 3));
  return text;
}

void add_test(EpochRecord& record, const Evaluation& test) {
  record.test_nll = test.nll;
  record.test_error = test.error;
  record.test_criterion_sse = test.criterion_sse;
  record.test_mean_sse = test.mean_sse;
  record.test_particles = test.particles;
  record.test_examples = test.examples;
  record.test_nll_se = test.standard_error.nll;
  record.test_error_se = test.standard_error.error;
  record.test_criterion_sse_se = test.standard_error.criterion_sse;
  record.test_mean_sse_se = test.standard_error.mean_sse;
}

std::optional<Evaluation> test_in(const EpochRecord& record) {
  if (!record.test_nll) return std::nullopt;
  return Evaluation{.examples = record.test_examples.value_or(0),
                    .particles = record.test_particles.value_or(0),
                    .nll = *record.test_nll,
                    .error = record.test_error,
                    .criterion_sse = record.test_criterion_sse,
                    .mean_sse = record.test_mean_sse,
                    .standard_error = {.nll = record.test_nll_se,
                                       .error = record.test_error_se,
                                       .criterion_sse = record.test_criterion_sse_se,
                                       .mean_sse = record.test_mean_sse_se}};
}

}  // namespace sfnn
