// C_hat with test-time M. Particles stream through in chunks, so that memory does not grow with M.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "host/data/dataset.hpp"
#include "host/model/model.hpp"
#include "host/train/staged_data.hpp"

namespace sfnn {

// Particles that evaluation and prediction draw at a time: with these, a few examples already make
// products of some hundred rows, and memory stays that of 64 however many are asked for.
constexpr std::int64_t kParticleChunk = 64;

struct EvaluateOptions {
  std::int64_t particles = 100;
  std::uint64_t seed = 1;
  bool predict = true;  // what needs the mean prediction too: the error, the SSE of the mean
};

struct Evaluation {
  std::int64_t examples = 0, particles = 1;
  double nll = 0;             // mean of -C_hat_M
  std::vector<double> curve;  // mean of C_hat_1 .. C_hat_M, all from the same particles
  double effective_particles = 1;
  std::optional<double> error;          // softmax: share with a wrong argmax of mean_m P(y|h^m)
  std::optional<double> criterion_sse;  // Gaussian: mean of -2 logmeanexp_m(-SSE_m / 2)
  std::optional<double> mean_sse;       // Gaussian: mean SSE of the mean prediction
};

// Examples that are evaluated again and again, staged once for a model's shape.
class EvaluationData {
 public:
  // The examples must outlive it. Throws ConfigError if there are none.
  EvaluationData(const Model&, const Examples&, std::int64_t particles);

  const Examples& examples() const { return examples_; }
  const StagedData& staged() const { return staged_; }
  std::int64_t tile() const { return staged_.height(); }  // examples per pass

 private:
  const Examples& examples_;
  StagedData staged_;
};

Evaluation evaluate(const Model&, const Examples&, const EvaluateOptions&);
Evaluation evaluate(const Model&, const EvaluationData&, const EvaluateOptions&);

// E[y|h^m] for M draws of the hidden units of each listed example: [rows, M, D_out].
std::vector<float> sample_outputs(const Model&, const Examples&, std::span<const std::int32_t> rows,
                                  std::int64_t M, std::uint64_t seed);

}  // namespace sfnn
