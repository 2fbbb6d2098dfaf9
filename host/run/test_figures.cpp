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
  if (test.sigma) text += fmt::format(", sigma {:.4g}", *test.sigma);
  return text;
}

namespace {

using Figure = std::optional<double> EpochRecord::*;

struct TestKeys {
  Figure nll, error, criterion_sse, mean_sse;
};

constexpr TestKeys keys_of(EvalWeights weights) {
  switch (weights) {
    case EvalWeights::trained:
      return {&EpochRecord::test_nll, &EpochRecord::test_error, &EpochRecord::test_criterion_sse,
              &EpochRecord::test_mean_sse};
    case EvalWeights::average:
      return {&EpochRecord::average_test_nll, &EpochRecord::average_test_error,
              &EpochRecord::average_test_criterion_sse, &EpochRecord::average_test_mean_sse};
  }
  return {};
}

}  // namespace

void add_test(EpochRecord& record, const Evaluation& test, EvalWeights of) {
  const TestKeys keys = keys_of(of);
  record.*keys.nll = test.nll;
  record.*keys.error = test.error;
  record.*keys.criterion_sse = test.criterion_sse;
  record.*keys.mean_sse = test.mean_sse;
  record.test_particles = test.particles;
  record.test_examples = test.examples;
  if (of != EvalWeights::trained) return;
  record.test_sigma = test.sigma;
  record.test_nll_se = test.standard_error.nll;
  record.test_error_se = test.standard_error.error;
  record.test_criterion_sse_se = test.standard_error.criterion_sse;
  record.test_mean_sse_se = test.standard_error.mean_sse;
}

std::optional<Evaluation> test_in(const EpochRecord& record, EvalWeights of) {
  const TestKeys keys = keys_of(of);
  if (!(record.*keys.nll)) return std::nullopt;
  Evaluation test{.examples = record.test_examples.value_or(0),
                  .particles = record.test_particles.value_or(0),
                  .nll = *(record.*keys.nll),
                  .error = record.*keys.error,
                  .criterion_sse = record.*keys.criterion_sse,
                  .mean_sse = record.*keys.mean_sse};
  if (of == EvalWeights::trained) {
    test.sigma = record.test_sigma;
    test.standard_error = {.nll = record.test_nll_se,
                           .error = record.test_error_se,
                           .criterion_sse = record.test_criterion_sse_se,
                           .mean_sse = record.test_mean_sse_se};
  }
  return test;
}

}  // namespace sfnn
