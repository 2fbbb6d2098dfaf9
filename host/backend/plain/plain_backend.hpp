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
  void upload_bits(std::span<const std::uint8_t> from, Bits to) override;
  void download_bits(ConstBits from, std::span<std::uint8_t> to) override;
  Tiling choose_tiling(const StepShape&) const override;

  void gather(const GatherArgs&) override;

  void multiply(ConstMatrix z, ConstMatrix W, Matrix out, Write) override;
  void multiply(ConstBits z, ConstMatrix W, Matrix out, Write) override;
  void multiply_transposed(ConstMatrix g, ConstMatrix W, Matrix out, Write) override;
  void accumulate_outer(ConstMatrix z, RowSet rows, ConstMatrix g, Matrix gW) override;
  void accumulate_outer(ConstBits z, RowSet rows, ConstMatrix g, Matrix gW) override;

  void sample_hidden(const Draw&, const Tile&, ConstMatrix a, const float* b, Bits s) override;
  void activate(const Tile&, ConstMatrix shared, const float* b, Matrix d) override;
  void output_log_prob(const OutputArgs&, float* log_w) override;
  void accumulate_mean_output(const OutputArgs&, Matrix mean) override;

  void particle_weights(const Tile&, const float* log_w, float* w_bar, float* C_hat,
                        float* ess) override;

  void output_grad(const OutputArgs&, const float* w_bar, RowSet rows, Matrix g_o) override;
  void hidden_grad(const HiddenGradArgs&) override;
  void deterministic_grad(ConstMatrix d, RowSet rows, Matrix g) override;
  void sum_particles(const Tile&, RowSet rows, ConstMatrix g, Matrix out) override;
  void accumulate_column_sums(ConstMatrix g, float* gb) override;
  void accumulate_baseline(const Tile&, ConstMatrix a, const float* b, ConstBits s,
                           const float* C_hat, float* sums) override;

  void update(const UpdateArgs&) override;
};

}  // namespace sfnn
