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

namespace sfnn::bench {

enum class Math { fp32, tf32, bf16x3 };  // as --math has it
enum class Unit { fp32, tf32, bf16 };    // whose peak rate bounds a launch

Math parse_math(const std::string&);  // throws ConfigError

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
  std::optional<Product> product;  // of a GEMM
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
  void upload_bits(std::span<const std::uint8_t>, Bits) override {}
  void download_bits(ConstBits from, std::span<std::uint8_t> to) override;  // zeros
  void fill_zero(std::byte* data, std::size_t bytes) override;
  void synchronize() override {}

  Tiling choose_tiling(const StepShape&) const override;
  int lanes() const override { return 1; }
  void for_each(std::int64_t items, FunctionRef<void(std::int64_t, int)> fn) override;
  void set_clock(const Clock&) override;

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
  double unit_bytes() const { return math_ == Math::bf16x3 ? 2 : 4; }
  void kernel(const char* name, double bytes, double operations);
  void product(const Product&, Write);
  void gather_rows(RowSet rows, std::int64_t cols, double element_bytes);
  void add_splits(std::int64_t rows, std::int64_t cols);

  Math math_;
  double keep_;
  std::vector<Launch> launches_;
};

}  // namespace sfnn::bench
