// The production CPU path: h as packed bits, products with it by table look-up, everything else in
// vectors of the best instruction set of the machine, threads over parts of the batch.
//
// If there are more threads than parts, an op shares its loops with the team of the thread that
// calls it (team.hpp). Scratch memory belongs to a thread, and no sum to more than one: no result
// depends on the lane or on how many there are.
#pragma once

#include "host/backend/host_backend.hpp"

namespace sfnn {

class CpuBackend final : public HostBackend {
 public:
  using HostBackend::HostBackend;

  std::string name() const override { return "cpu"; }
  std::string describe() const override;
  std::string product_method(bool bits, std::int64_t rows) const override;

  std::size_t bits_bytes(std::int64_t rows, std::int64_t cols) const override;
  Tiling choose_tiling(const StepShape&) const override;

 protected:
  void do_upload_bits(std::span<const std::uint8_t> from, Bits to) override;
  void do_download_bits(ConstBits from, std::span<std::uint8_t> to) override;
  void do_gather(const GatherArgs&) override;
  void do_multiply(const MultiplyArgs&) override;
  void do_multiply_transposed(const MultiplyTransposedArgs&) override;
  void do_accumulate_outer(const AccumulateOuterArgs&) override;
  void do_sample_hidden(const SampleHiddenArgs&) override;
  void do_activate(const ActivateArgs&) override;
  void do_output_log_prob(const OutputLogProbArgs&) override;
  void do_accumulate_mean_output(const AccumulateMeanOutputArgs&) override;
  void do_particle_weights(const ParticleWeightsArgs&) override;
  void do_output_grad(const OutputGradArgs&) override;
  void do_path_grad(const PathGradArgs&) override;
  void do_score_grad(const ScoreGradArgs&) override;
  void do_deterministic_grad(const DeterministicGradArgs&) override;
  void do_sum_particles(const SumParticlesArgs&) override;
  void do_accumulate_column_sums(const AccumulateColumnSumsArgs&) override;
  void do_accumulate_baseline(const AccumulateBaselineArgs&) override;
  void do_update(const UpdateArgs&) override;
};

}  // namespace sfnn
