// The production CPU path: h as packed bits, products with it in tile registers (AMX) or by table
// look-up, everything else in vectors of the best instruction set of the machine, threads over
// parts of the batch.
//
// If there are more threads than parts, an op shares its loops with the team of the thread that
// calls it (team.hpp). Scratch memory belongs to a thread, and no sum to more than one: no result
// depends on the lane or on how many there are.
#pragma once

#include "host/backend/cpu/tile_kernel.hpp"
#include "host/backend/host_backend.hpp"

namespace sfnn {

class CpuBackend final : public HostBackend {
 public:
  // The machine's tile registers, if it has any; null: products with bits by look-up.
  static TileKernel best_tiles();
  explicit CpuBackend(int threads, TileKernel tiles = best_tiles())
      : HostBackend(threads), tiles_(tiles) {}

  std::string name() const override { return "cpu"; }
  std::string describe() const override;
  std::string product_method(bool bits, std::int64_t rows) const override;

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

 private:
  // fn(first, count) over all runs of squares, by several threads.
  void for_each_runs(std::int64_t runs, FunctionRef<void(std::int64_t, std::int64_t)> fn);

  TileKernel tiles_;
};

}  // namespace sfnn
