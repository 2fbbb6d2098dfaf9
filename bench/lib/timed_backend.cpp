#include "bench/lib/timed_backend.hpp"

#include "bench/lib/clock.hpp"

namespace sfnn::bench {
namespace {

// By processor time: on a shared machine, too, the ops add up to the step.
class Stopwatch {
 public:
  explicit Stopwatch(double& ms) : ms_(ms) {}
  ~Stopwatch() { ms_ += cpu_ms() - start_; }

 private:
  double& ms_;
  double start_ = cpu_ms();
};

}  // namespace

template <class Op>
auto TimedBackend::time(const char* name, const Op& op) {
  const Stopwatch stopwatch(ms_[name]);
  return op();
}

void TimedBackend::fill_zero(std::byte* data, std::size_t bytes) {
  time("fill_zero", [&] { timed_.fill_zero(data, bytes); });
}

void TimedBackend::gather(const GatherArgs& p) {
  time("gather", [&] { timed_.gather(p); });
}

void TimedBackend::shuffle(const DrawKey& key, std::int64_t count, std::int32_t* order) {
  time("shuffle", [&] { timed_.shuffle(key, count, order); });
}

void TimedBackend::multiply(ConstMatrix z, ConstMatrix W, Matrix out, Write write) {
  time("multiply", [&] { timed_.multiply(z, W, out, write); });
}

void TimedBackend::multiply(ConstBits z, ConstMatrix W, Matrix out, Write write) {
  time("multiply_bits", [&] { timed_.multiply(z, W, out, write); });
}

void TimedBackend::multiply_transposed(ConstMatrix g, ConstMatrix W, Matrix out, Write write) {
  time("multiply_transposed", [&] { timed_.multiply_transposed(g, W, out, write); });
}

void TimedBackend::accumulate_outer(ConstMatrix z, RowSet rows, ConstMatrix g, Matrix gW) {
  time("accumulate_outer", [&] { timed_.accumulate_outer(z, rows, g, gW); });
}

void TimedBackend::accumulate_outer(ConstBits z, RowSet rows, ConstMatrix g, Matrix gW) {
  time("accumulate_outer_bits", [&] { timed_.accumulate_outer(z, rows, g, gW); });
}

void TimedBackend::sample_hidden(const Draw& draw, const Tile& tile, ConstMatrix a, const float* b,
                                 Bits s) {
  time("sample_hidden", [&] { timed_.sample_hidden(draw, tile, a, b, s); });
}

void TimedBackend::activate(const Tile& tile, ConstMatrix shared, const float* b, Matrix d) {
  time("activate", [&] { timed_.activate(tile, shared, b, d); });
}

void TimedBackend::output_log_prob(const OutputArgs& p, float* log_w) {
  time("output_log_prob", [&] { timed_.output_log_prob(p, log_w); });
}

void TimedBackend::accumulate_mean_output(const OutputArgs& p, Matrix mean) {
  time("accumulate_mean_output", [&] { timed_.accumulate_mean_output(p, mean); });
}

void TimedBackend::particle_weights(const Tile& tile, const float* log_w, float* w_bar,
                                    float* C_hat, float* ess) {
  time("particle_weights", [&] { timed_.particle_weights(tile, log_w, w_bar, C_hat, ess); });
}

RowSet TimedBackend::select_rows(const Tile& tile, const float* w_bar, float threshold,
                                 std::int32_t* index) {
  const RowSet live =
      time("select_rows", [&] { return timed_.select_rows(tile, w_bar, threshold, index); });
  rows_ += tile.rows();
  live_rows_ += live.count;
  return live;
}

void TimedBackend::accumulate_metrics(std::int64_t N, const float* C_hat, const float* ess,
                                      double* sums) {
  time("accumulate_metrics", [&] { timed_.accumulate_metrics(N, C_hat, ess, sums); });
}

void TimedBackend::output_grad(const OutputArgs& p, const float* w_bar, RowSet rows, Matrix g_o) {
  time("output_grad", [&] { timed_.output_grad(p, w_bar, rows, g_o); });
}

void TimedBackend::hidden_grad(const HiddenGradArgs& p) {
  time("hidden_grad", [&] { timed_.hidden_grad(p); });
}

void TimedBackend::deterministic_grad(ConstMatrix d, RowSet rows, Matrix g) {
  time("deterministic_grad", [&] { timed_.deterministic_grad(d, rows, g); });
}

void TimedBackend::sum_particles(const Tile& tile, RowSet rows, ConstMatrix g, Matrix out) {
  time("sum_particles", [&] { timed_.sum_particles(tile, rows, g, out); });
}

void TimedBackend::accumulate_column_sums(ConstMatrix g, float* gb) {
  time("accumulate_column_sums", [&] { timed_.accumulate_column_sums(g, gb); });
}

void TimedBackend::accumulate_baseline(const Tile& tile, ConstMatrix a, const float* b, ConstBits s,
                                       const float* C_hat, float* sums) {
  time("accumulate_baseline", [&] { timed_.accumulate_baseline(tile, a, b, s, C_hat, sums); });
}

void TimedBackend::update(const UpdateArgs& p) {
  time("update", [&] { timed_.update(p); });
}

void TimedBackend::update_baseline(const BaselineUpdateArgs& p) {
  time("update_baseline", [&] { timed_.update_baseline(p); });
}

}  // namespace sfnn::bench
