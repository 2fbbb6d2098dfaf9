// C_hat with test-time M. Particles stream through in chunks, so that memory does not grow with M.
#pragma once

#include <cstdint>
#include <sfnn/evaluate.hpp>
#include <span>
#include <vector>

#include "host/data/dataset.hpp"
#include "host/model/model.hpp"
#include "host/train/staged_data.hpp"

namespace sfnn {

// Particles that evaluation and prediction draw at a time: with these, a few examples already make
// products of some hundred rows, and memory stays that of 64 however many are asked for.
constexpr std::int64_t kParticleChunk = 64;

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

// With R, the figures by its particles are measured beside those by P's.
Evaluation evaluate(const Model&, const Examples&, const EvaluateOptions&,
                    const Model* R = nullptr);
Evaluation evaluate(const Model&, const EvaluationData&, const EvaluateOptions&,
                    const Model* R = nullptr);

struct SampledOutputs {
  std::vector<float> means = {};   // E[y|h], [rows, M, D_out]
  std::vector<float> sigmas = {};  // Gaussian: standard deviations of y given h, in the same shape
};

// P(y|h^m) for M draws of the hidden units of each listed example. same_draws: as in
// PredictOptions. With R they are drawn given the example's y, too.
SampledOutputs sample_outputs(const Model&, const Examples&, std::span<const std::int32_t> rows,
                              std::int64_t M, std::uint64_t seed, bool same_draws = false,
                              const Model* R = nullptr);

}  // namespace sfnn
