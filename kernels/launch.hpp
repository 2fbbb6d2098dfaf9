// The kernels' launchers: what cuda/ calls. The one header here that needs the runtime's types.
//
// A launcher enqueues its kernel and returns without waiting. No work, no launch: a grid of zero
// blocks is an error, an empty batch is not.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/args.hpp"
#include "kernels/bf16.hpp"

namespace sfnn {

// The stream of a launch, and the width of the device.
struct Queue {
  cudaStream_t stream = nullptr;
  int multiprocessors = 1;
};

// Whether the current device can run these kernels: cudaSuccess, or why the runtime found no code.
[[nodiscard]] cudaError_t find_kernels();

// --- data
[[nodiscard]] cudaError_t launch_set_clock(Clock* clock, const Clock& value, const Queue&);
[[nodiscard]] cudaError_t launch_gather(const GatherArgs&, const Clock*, const Queue&);

// --- forward
[[nodiscard]] cudaError_t launch_sample_hidden(const SampleHiddenArgs&, UnitType, const Clock*,
                                               const Queue&);
[[nodiscard]] cudaError_t launch_activate(const ActivateArgs&, const Queue&);
[[nodiscard]] cudaError_t launch_output_log_prob(const OutputLogProbArgs&, const Queue&);
[[nodiscard]] cudaError_t launch_accumulate_mean_output(const AccumulateMeanOutputArgs&,
                                                        const Queue&);

// --- weigh
[[nodiscard]] cudaError_t launch_particle_weights(const ParticleWeightsArgs&, const Queue&);
[[nodiscard]] cudaError_t launch_accumulate_metrics(const AccumulateMetricsArgs&, const Queue&);

// --- a learned proposal
[[nodiscard]] cudaError_t launch_join_target(const JoinTargetArgs&, const Queue&);
[[nodiscard]] cudaError_t launch_log_ratio(const LogRatioArgs&, UnitType, const Queue&);
[[nodiscard]] cudaError_t launch_proposal_weights(const ProposalWeightsArgs&, const Queue&);
[[nodiscard]] cudaError_t launch_proposal_grad(const ProposalGradArgs&, UnitType, const Queue&);

// --- backward
[[nodiscard]] cudaError_t launch_output_grad(const OutputGradArgs&, const Queue&);
[[nodiscard]] cudaError_t launch_path_grad(const PathGradArgs&, UnitType, const Clock*,
                                           const Queue&);
[[nodiscard]] cudaError_t launch_score_grad(const ScoreGradArgs&, UnitType, const Queue&);
[[nodiscard]] cudaError_t launch_make_beta(const MakeBetaArgs&, const Queue&);
[[nodiscard]] cudaError_t launch_deterministic_grad(const DeterministicGradArgs&, const Queue&);
[[nodiscard]] cudaError_t launch_sum_particles(const SumParticlesArgs&, const Queue&);
// Both add to their result. scratch: [kMaxColumnSplits, width of the result].
[[nodiscard]] cudaError_t launch_column_sums(const AccumulateColumnSumsArgs&, float* scratch,
                                             const Queue&);
[[nodiscard]] cudaError_t launch_baseline_sums(const AccumulateBaselineArgs&, UnitType,
                                               float* scratch, const Queue&);

// --- update
[[nodiscard]] cudaError_t launch_update(const UpdateArgs&, const Clock*, const Queue&);
[[nodiscard]] cudaError_t launch_square_sums(const SquareSumsArgs&, const Queue&);
[[nodiscard]] cudaError_t launch_gradient_norm(const GradientNormArgs&, const Queue&);
[[nodiscard]] cudaError_t launch_update_baseline(const BaselineUpdateArgs&, const Clock*,
                                                 const Queue&);

// --- operands of products
[[nodiscard]] cudaError_t launch_gather_rows(const float* from, RowSet, std::int64_t cols,
                                             float* to, const Queue&);
[[nodiscard]] cudaError_t launch_gather_rows(const Bf16* from, RowSet, std::int64_t cols, Bf16* to,
                                             const Queue&);
// parts: three of `size` elements each, `stride` apart.
[[nodiscard]] cudaError_t launch_split_bf16(const float* from, std::int64_t size, Bf16* parts,
                                            std::int64_t stride, const Queue&);

}  // namespace sfnn
