// The CUDA backend: kernels/ for everything but the products, which are cuBLAS's, all on one stream
// of its own.
#pragma once

#include <memory>

#include "cuda/blas.hpp"
#include "cuda/device_buffer.hpp"
#include "cuda/handles.hpp"
#include "cuda/thrust_ops.hpp"
#include "host/backend/backend.hpp"
#include "kernels/launch.hpp"

namespace sfnn {

// Null if the device of this name is not available; why_not then says why, in one sentence. Throws
// ConfigError if there are devices, but none of this name.
struct CudaOptions {
  std::string device;  // "cuda", "cuda:1"
  std::string math;    // arithmetic of the products: see MathMode
  bool graph = true;   // replay a training step as a CUDA graph
};
std::unique_ptr<Backend> make_cuda_backend(const CudaOptions&, std::string& why_not);

class CudaBackend final : public Backend {
 public:
  CudaBackend(int device, MathMode, bool graph);

  std::string name() const override { return "cuda"; }
  std::string describe() const override { return description_; }
  cudaStream_t stream() const { return queue_.stream; }  // where all its work goes

  std::byte* allocate(std::size_t bytes) override;
  void release(std::byte* data) noexcept override;
  void upload(std::span<const std::byte> from, std::byte* to) override;
  void download(const std::byte* from, std::span<std::byte> to) override;
  const std::byte* stage(std::span<const std::byte> from, Buffer& copy) override;
  // For rows that would take more than half of what is free.
  std::unique_ptr<RowFeed> make_feed(const HostRows&, std::int64_t height) override;
  std::size_t staged_bytes(const HostRows&, std::int64_t height) const override;
  std::size_t free_memory() const override;
  std::size_t bits_bytes(std::int64_t rows, std::int64_t cols) const override;
  void synchronize() override;

  Tiling choose_tiling(const StepShape&) const override;
  int lanes() const override { return 1; }
  void for_each(std::int64_t items, FunctionRef<void(std::int64_t, int)> fn) override;
  void set_clock(const Clock&) override;
  std::unique_ptr<StepRunner> make_step_runner() override;
  void push_range(const char* name) override;
  void pop_range() override;
  void profiler(bool on) override;

 protected:
  void do_upload_bits(std::span<const std::uint8_t> from, Bits to) override;
  void do_download_bits(ConstBits from, std::span<std::uint8_t> to) override;
  void run(const FillZeroArgs&) override;
  void run(const GatherArgs&) override;
  void run(const ShuffleArgs&) override;
  void run(const MultiplyArgs&) override;
  void run(const MultiplyTransposedArgs&) override;
  void run(const AccumulateOuterArgs&) override;
  void run(const SampleHiddenArgs&) override;
  void run(const ActivateArgs&) override;
  void run(const OutputLogProbArgs&) override;
  void run(const AccumulateMeanOutputArgs&) override;
  void run(const ParticleWeightsArgs&) override;
  // Reads the count back, which a recorded step cannot: with graphs on, all rows stay.
  RowSet run(const SelectRowsArgs&) override;
  void run(const AccumulateMetricsArgs&) override;
  void run(const JoinTargetArgs&) override;
  void run(const LogRatioArgs&) override;
  void run(const ProposalWeightsArgs&) override;
  void run(const ProposalGradArgs&) override;
  void run(const OutputGradArgs&) override;
  void run(const PathGradArgs&) override;
  void run(const ScoreGradArgs&) override;
  void run(const MakeBetaArgs&) override;
  void run(const DeterministicGradArgs&) override;
  void run(const SumParticlesArgs&) override;
  void run(const AccumulateColumnSumsArgs&) override;
  void run(const AccumulateBaselineArgs&) override;
  void run(const UpdateArgs&) override;
  void run(const SquareSumsArgs&) override;
  void run(const GradientNormArgs&) override;
  void run(const BaselineUpdateArgs&) override;

 private:
  bool fits(const HostRows&) const;  // if not, the rows are fed window by window
  const Clock* clock() const { return reinterpret_cast<const Clock*>(clock_.get()); }
  UnitType unit_type() const { return blas_.unit_type(); }
  std::size_t unit_bytes() const;
  template <class T>
  T* gathered(const T* z, RowSet rows, std::int64_t height, std::int64_t cols);
  ConstMatrix rows_of(ConstMatrix z, RowSet rows);
  ConstBits rows_of(ConstBits z, RowSet rows);

  int scratch_moves_ = 0;  // how often memory that a recorded step may name has moved
  bool graph_;
  std::string description_;
  Stream stream_;
  Queue queue_;
  Blas blas_;
  DeviceMemory clock_;

  Scratch column_sums_{scratch_moves_};  // one row per split of a column sum
  Scratch gathered_{scratch_moves_};     // the rows of a compacted operand
  Scratch shuffle_keys_{scratch_moves_};
  TemporaryPool temporaries_;
};

}  // namespace sfnn
