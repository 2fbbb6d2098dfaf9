// What a trained network is worth, and what it says of inputs.
#pragma once

#include <cstdint>
#include <optional>
#include <sfnn/data.hpp>
#include <sfnn/network.hpp>
#include <span>
#include <vector>

namespace sfnn {

struct EvaluateOptions {
  std::int64_t particles = 100;  // M
  std::uint64_t seed = 1;
  bool predict = true;      // what needs the mean prediction too: the error, the SSE of the mean
  std::int64_t draws = 1;   // times that all particles are drawn, by the seeds seed, seed + 1, ...
  bool same_draws = false;  // as in PredictOptions
};

// An error of each figure; empty if the figure is, or if there are fewer than two values.
struct EvaluationErrors {
  std::optional<double> nll, error, criterion_sse, mean_sse;
};

// By particles of the learned proposal R(h|x,y): another estimate of log P(y|x) for the same
// network, whose mean is a bound of it as well. It is not C_hat with h ~ P, and not to be compared
// with one.
struct ProposalEvaluation {
  double nll = 0;
  std::optional<double> nll_se, nll_draw_sd;  // as in EvaluationErrors
  std::vector<double> curve = {};
  std::optional<double> effective_particles;  // always there if it was measured just now
};

// Every figure is the mean over the draws.
struct Evaluation {
  std::int64_t examples = 0, particles = 1;
  std::int64_t draws = 1;
  double nll = 0;             // mean of -C_hat_M
  std::vector<double> curve;  // mean of C_hat_1 .. C_hat_M, all from the same particles
  std::vector<double> log_p;  // C_hat_M of each example: the estimate of log P(y|x)
  double effective_particles = 1;
  std::optional<double> error;  // softmax: share with a wrong argmax of mean_m P(y|h^m)
  // Gaussian, one sigma for all outputs: mean of -2 sigma^2 logmeanexp_m(-SSE_m / (2 sigma^2)), the
  // SSE that a single prediction would need for the same criterion. Absent if outputs differ in
  // sigma: errors are then not weighed alike.
  std::optional<double> criterion_sse;
  std::optional<double> mean_sse;   // Gaussian, Poisson: mean SSE of the mean prediction
  std::optional<double> sigma;      // learnt: the standard deviation; one per output: their r.m.s.
  // Softmax of at most 100 classes: [i, j] is how many examples of class i were taken for class j.
  std::vector<double> confusion;
  EvaluationErrors standard_error;  // over the examples
  EvaluationErrors draw_sd;         // standard deviation over the draws
  std::optional<ProposalEvaluation> proposal;  // if the network was trained with an R
};

// Throws ConfigError if there are no such examples or they do not fit the network.
Evaluation evaluate(const Network&, const Data&, DataPart = DataPart::test,
                    const EvaluateOptions& = {});

struct PredictOptions {
  std::int64_t particles = 100;  // M
  std::uint64_t seed = 1;
  // false: the hidden units of a row are drawn by its place among the rows; true: every row has the
  // same draws, so that what is said of it depends neither on its place nor on the other rows.
  bool same_draws = false;
};

// Inputs are rows of network.inputs() numbers in their own units, and so is what is said of them;
// the network sees them centred or standardised as in training. They throw ShapeError if they are
// not whole rows. For a network without inputs, which has nothing to count, rows says how many.
struct Inputs {
  std::span<const float> x;
  std::int64_t rows = 0;
};

// mean_m E[y|h^m]: probabilities of classes or bits, rates, or means. [rows, network.outputs()]
std::vector<float> predict(const Network&, const Inputs&, const PredictOptions& = {});

struct SampleOptions {
  std::int64_t samples = 1;  // per row
  std::uint64_t seed = 1;
  bool same_draws = false;  // as in PredictOptions
  bool expected = false;    // E[y|h] of each draw of the hidden units, not y itself
};

// Draws of y: bits, values with the noise of their sigma, counts, or classes. [rows, samples,
// outputs()]; for classes, unless `expected`, [rows, samples].
std::vector<float> sample(const Network&, const Inputs&, const SampleOptions& = {});

}  // namespace sfnn
