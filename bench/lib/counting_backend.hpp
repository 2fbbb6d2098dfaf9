// A backend that computes nothing: it writes down what the CUDA backend would launch for each op,
// with the bytes and the arithmetic that the launch cannot do without. Drive a Trainer with it and
// the list is a real step's. It needs neither the CUDA toolkit nor a GPU.
//
// Bytes: each operand once, as if caches kept what a launch reads twice. Operations of kernels are
// estimates (see the .cpp); those of products are exact, two for each multiply-add.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/backend/backend.hpp"
#include "host/backend/math_mode.hpp"

namespace sfnn::bench {

using Math = MathMode;
enum class Unit { fp32, tf32, bf16 };  // whose peak rate bounds a launch

// A product as the backend was asked for it: out [m, n], k terms each.
struct Product {
  enum class Kind { multiply, multiply_transposed, outer } kind = Kind::multiply;
  bool bits = false;  // the first operand is 0/1
  std::int64_t m = 0, n = 0, k = 0;
};

struct Launch {
  std::string name;
  double bytes = 0, operations = 0;
  Unit unit = Unit::fp32;
  std::optional<Product> product;  // shape of a GEMM
};

class CountingBackend final : public Backend {
 public:
  // keep: the share of a tile's particles that compaction leaves; 1: compaction is off.
  explicit CountingBackend(Math math = Math::fp32, double keep = 1) : math_(math), keep_(keep) {}

  const std::vector<Launch>& launches() const { return launches_; }
  void clear() { launches_.clear(); }

  std::string name() const override { return "counting"; }
  std::string describe() const override { return "counting (computes nothing)"; }

  std::byte* allocate(std::size_t bytes) override;
  void release(std::byte* data) noexcept override;
  void upload(std::span<const std::byte>, std::byte*) override {}
  void download(const std::byte* from, std::span<std::byte> to) override;  // zeros
  const std::byte* stage(std::span<const std::byte> from, Buffer&) override { return from.data(); }
  std::size_t free_memory() const override { return std::size_t(-1); }
  std::size_t bits_bytes(std::int64_t rows, std::int64_t cols) const override;
  void synchronize() override {}

  Tiling choose_tiling(const StepShape&) const override;
  int lanes() const override { return 1; }
  void for_each(std::int64_t items, FunctionRef<void(std::int64_t, int)> fn) override;
  void set_clock(const Clock&) override;

 protected:
  void do_upload_bits(std::span<const std::uint8_t>, Bits) override {}
  void do_download_bits(ConstBits from, std::span<std::uint8_t> to) override;  // zeros
  void do_fill_zero(const FillZeroArgs&) override;
  void do_gather(const GatherArgs&) override;
  void do_shuffle(const ShuffleArgs&) override;
  void do_multiply(const MultiplyArgs&) override;
  void do_multiply_transposed(const MultiplyTransposedArgs&) override;
  void do_accumulate_outer(const AccumulateOuterArgs&) override;
  void do_sample_hidden(const SampleHiddenArgs&) override;
  void do_activate(const ActivateArgs&) override;
  void do_output_log_prob(const OutputLogProbArgs&) override;
  void do_accumulate_mean_output(const AccumulateMeanOutputArgs&) override;
  void do_particle_weights(const ParticleWeightsArgs&) override;
  RowSet do_select_rows(const SelectRowsArgs&) override;
  void do_accumulate_metrics(const AccumulateMetricsArgs&) override;
  void do_output_grad(const OutputGradArgs&) override;
  void do_path_grad(const PathGradArgs&) override;
  void do_score_grad(const ScoreGradArgs&) override;
  void do_make_beta(const MakeBetaArgs&) override;
  void do_deterministic_grad(const DeterministicGradArgs&) override;
  void do_sum_particles(const SumParticlesArgs&) override;
  void do_accumulate_column_sums(const AccumulateColumnSumsArgs&) override;
  void do_accumulate_baseline(const AccumulateBaselineArgs&) override;
  void do_update(const UpdateArgs&) override;
  void do_update_baseline(const BaselineUpdateArgs&) override;

 private:
  double unit_bytes() const { return math_ == Math::bf16x3 ? 2 : 4; }
  void kernel(const char* name, double bytes, double operations);
  void product(const Product&, Write);
  void add_splits(std::int64_t rows, std::int64_t cols);

  Math math_;
  double keep_;
  std::vector<Launch> launches_;
};

}  // namespace sfnn::bench
