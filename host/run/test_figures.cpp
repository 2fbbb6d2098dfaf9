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
  if (const auto& by_R = test.proposal) {
    const bool counted = by_R->effective_particles.has_value();
    if (counted) text += fmt::format(", {:.1f} effective", test.effective_particles);
    text +=
        fmt::format("; by draws of R: NLL bound {:.3f}{}", by_R->nll, plus_minus(by_R->nll_se, 3));
    if (counted) text += fmt::format(", {:.1f} effective", *by_R->effective_particles);
  }
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
  Figure nll, nll_proposal, error, criterion_sse, mean_sse, sigma;
  Figure nll_se, error_se, criterion_sse_se, mean_sse_se;
  Figure nll_proposal_se, effective, effective_by_R;  // if there is an R
};

constexpr TestKeys keys_of(EvalWeights weights) {
  using R = EpochRecord;
  switch (weights) {
    case EvalWeights::trained:
      return {&R::test_nll,
              &R::test_nll_proposal,
              &R::test_error,
              &R::test_criterion_sse,
              &R::test_mean_sse,
              &R::test_sigma,
              &R::test_nll_se,
              &R::test_error_se,
              &R::test_criterion_sse_se,
              &R::test_mean_sse_se,
              &R::test_nll_proposal_se,
              &R::test_effective_particles,
              &R::test_effective_particles_proposal};
    case EvalWeights::average:
      return {&R::average_test_nll,
              &R::average_test_nll_proposal,
              &R::average_test_error,
              &R::average_test_criterion_sse,
              &R::average_test_mean_sse,
              &R::average_test_sigma,
              &R::average_test_nll_se,
              &R::average_test_error_se,
              &R::average_test_criterion_sse_se,
              &R::average_test_mean_sse_se,
              &R::average_test_nll_proposal_se,
              &R::average_test_effective_particles,
              &R::average_test_effective_particles_proposal};
  }
  return {};
}

}  // namespace

void add_test(EpochRecord& record, const Evaluation& test, EvalWeights of) {
  const TestKeys keys = keys_of(of);
  record.test_particles = test.particles;
  record.test_examples = test.examples;
  record.*keys.nll = test.nll;
  record.*keys.error = test.error;
  record.*keys.criterion_sse = test.criterion_sse;
  record.*keys.mean_sse = test.mean_sse;
  record.*keys.sigma = test.sigma;
  record.*keys.nll_se = test.standard_error.nll;
  record.*keys.error_se = test.standard_error.error;
  record.*keys.criterion_sse_se = test.standard_error.criterion_sse;
  record.*keys.mean_sse_se = test.standard_error.mean_sse;
  if (!test.proposal) return;
  record.*keys.nll_proposal = test.proposal->nll;
  record.*keys.nll_proposal_se = test.proposal->nll_se;
  record.*keys.effective = test.effective_particles;
  record.*keys.effective_by_R = test.proposal->effective_particles;
}

std::optional<Evaluation> test_in(const EpochRecord& record, EvalWeights of) {
  const TestKeys keys = keys_of(of);
  if (!(record.*keys.nll)) return std::nullopt;
  Evaluation test{.examples = record.test_examples.value_or(0),
                  .particles = record.test_particles.value_or(0),
                  .nll = *(record.*keys.nll),
                  .error = record.*keys.error,
                  .criterion_sse = record.*keys.criterion_sse,
                  .mean_sse = record.*keys.mean_sse,
                  .sigma = record.*keys.sigma};
  test.standard_error = {.nll = record.*keys.nll_se,
                         .error = record.*keys.error_se,
                         .criterion_sse = record.*keys.criterion_sse_se,
                         .mean_sse = record.*keys.mean_sse_se};
  if (const auto nll = record.*keys.nll_proposal) {
    test.proposal = {.nll = *nll};
    test.proposal->nll_se = record.*keys.nll_proposal_se;
    test.proposal->effective_particles = record.*keys.effective_by_R;
    test.effective_particles = (record.*keys.effective).value_or(1);
  }
  return test;
}

}  // namespace sfnn
