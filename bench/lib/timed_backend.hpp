// A backend that passes every op on to another and keeps the time each takes: where a step's time
// goes. One lane only, so that the times of ops add up to the time of the step.
#pragma once

#include <map>
#include <string>

#include "host/backend/backend.hpp"

namespace sfnn::bench {

class TimedBackend final : public Backend {
 public:
  explicit TimedBackend(Backend& timed) : timed_(timed) {}

  // Milliseconds by name of the op since `clear`.
  const std::map<std::string, double>& milliseconds() const { return ms_; }
  // The share of the particles that the backward products kept.
  double live_share() const { return rows_ == 0 ? 1 : double(live_rows_) / double(rows_); }
  void clear() {
    ms_.clear();
    rows_ = live_rows_ = 0;
  }

  std::string name() const override { return timed_.name(); }
  std::string describe() const override { return timed_.describe(); }
  std::string product_method(bool bits, std::int64_t rows) const override {
    return timed_.product_method(bits, rows);
  }

  std::size_t free_memory() const override { return timed_.free_memory(); }
  bool is_host_memory() const override { return timed_.is_host_memory(); }
  std::byte* allocate(std::size_t bytes) override { return timed_.allocate(bytes); }
  void release(std::byte* data) noexcept override { timed_.release(data); }
  void upload(std::span<const std::byte> from, std::byte* to) override { timed_.upload(from, to); }
  void download(const std::byte* from, std::span<std::byte> to) override {
    timed_.download(from, to);
  }
  const std::byte* stage(std::span<const std::byte> from, Buffer& copy) override {
    return timed_.stage(from, copy);
  }
  std::size_t bits_bytes(std::int64_t rows, std::int64_t cols) const override {
    return timed_.bits_bytes(rows, cols);
  }
  void upload_bits(std::span<const std::uint8_t> from, Bits to) override {
    timed_.upload_bits(from, to);
  }
  void download_bits(ConstBits from, std::span<std::uint8_t> to) override {
    timed_.download_bits(from, to);
  }
  void fill_zero(std::byte* data, std::size_t bytes) override;
  void synchronize() override { timed_.synchronize(); }

  Tiling choose_tiling(const StepShape& shape) const override {
    return timed_.choose_tiling(shape);
  }
  int lanes() const override { return 1; }
  void for_each(std::int64_t items, FunctionRef<void(std::int64_t, int)> fn) override {
    for (std::int64_t item = 0; item < items; ++item) fn(item, 0);
  }
  void set_clock(const Clock& clock) override { timed_.set_clock(clock); }

  void gather(const GatherArgs&) override;
  void shuffle(const DrawKey&, std::int64_t count, std::int32_t* order) override;

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
  RowSet select_rows(const Tile&, const float* w_bar, float threshold,
                     std::int32_t* index) override;
  void accumulate_metrics(std::int64_t N, const float* C_hat, const float* ess,
                          double* sums) override;

  void output_grad(const OutputArgs&, const float* w_bar, RowSet rows, Matrix g_o) override;
  void hidden_grad(const HiddenGradArgs&) override;
  void deterministic_grad(ConstMatrix d, RowSet rows, Matrix g) override;
  void sum_particles(const Tile&, RowSet rows, ConstMatrix g, Matrix out) override;
  void accumulate_column_sums(ConstMatrix g, float* gb) override;
  void accumulate_baseline(const Tile&, ConstMatrix a, const float* b, ConstBits s,
                           const float* C_hat, float* sums) override;

  void update(const UpdateArgs&) override;
  void update_baseline(const BaselineUpdateArgs&) override;

 private:
  // Calls `op` and books its time under `name`.
  template <class Op>
  auto time(const char* name, const Op& op);

  Backend& timed_;
  std::map<std::string, double> ms_;
  std::int64_t rows_ = 0, live_rows_ = 0;
};

}  // namespace sfnn::bench
