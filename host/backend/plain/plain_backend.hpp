// The plain CPU path: h as floats, dense products, loops over the shared per-element functions of
// kernels/. It is slow and obvious, and the oracle of the other backends.
#pragma once

#include "host/backend/host_backend.hpp"

namespace sfnn {

class PlainBackend : public HostBackend {
 public:
  using HostBackend::HostBackend;

  std::string name() const override { return "plain"; }
  std::string describe() const override;

  std::size_t bits_bytes(std::int64_t rows, std::int64_t cols) const override;
  Tiling choose_tiling(const StepShape&) const override;

 protected:
  using HostBackend::run;
  void do_upload_bits(std::span<const std::uint8_t> from, Bits to) override;
  void do_download_bits(ConstBits from, std::span<std::uint8_t> to) override;
  void run(const GatherArgs&) override;
  void run(const MultiplyArgs&) override;
  void run(const MultiplyTransposedArgs&) override;
  void run(const AccumulateOuterArgs&) override;
  void run(const SampleHiddenArgs&) override;
  void run(const ActivateArgs&) override;
  void run(const OutputLogProbArgs&) override;
  void run(const AccumulateMeanOutputArgs&) override;
  void run(const ParticleWeightsArgs&) override;
  void run(const LogRatioArgs&) override;
  void run(const ProposalGradArgs&) override;
  void run(const OutputGradArgs&) override;
  void run(const PathGradArgs&) override;
  void run(const ScoreGradArgs&) override;
  void run(const DeterministicGradArgs&) override;
  void run(const SumParticlesArgs&) override;
  void run(const AccumulateColumnSumsArgs&) override;
  void run(const AccumulateBaselineArgs&) override;
  void run(const UpdateArgs&) override;
  void run(const SquareSumsArgs&) override;
};

}  // namespace sfnn
