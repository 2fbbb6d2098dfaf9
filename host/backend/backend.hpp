// The interface that every device implements: one method an op. The pass above it is written once.
//
// Pointers in views belong to the backend's memory. Ops of one lane run in the order in which they
// were called, and may return before their work is done. What may wait for it: `synchronize`,
// `profiler`, copies to and from the host, and `select_rows`, which needs its count there.
//
// Rows: a tile holds N examples with M particles each. A *shared* matrix has N rows, a per-particle
// one N*M (row r = n*M + m); ops that take either tell them apart by their row count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "host/base/function_ref.hpp"
#include "kernels/args.hpp"
#include "kernels/philox.hpp"
#include "kernels/views.hpp"

namespace sfnn {

class Backend;

// Owner of a piece of backend memory; zeroed when made.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Backend& backend, std::size_t bytes);
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer();

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  float* floats() const { return reinterpret_cast<float*>(data_); }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(backend_, other.backend_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }

  Backend* backend_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

enum class Write { set, add };

// How a step is cut up. Never a matter of how many threads there are: it decides the order of sums.
struct Tiling {
  std::int64_t tile = 0;         // examples
  std::int64_t parts = 1;        // accumulators; each takes a run of consecutive tiles
  bool short_of_memory = false;  // a larger tile would have been taken, had it fitted
};

// What a step needs to know of the network to choose a tiling.
struct StepShape {
  std::int64_t batch = 0, M = 1;
  std::int64_t row_floats = 0;  // floats a particle's activations take
  std::int64_t parameters = 0;
  // Besides: what an example takes once for all its particles, and what all take together.
  std::size_t example_bytes = 0, other_bytes = 0;
};

// A data set in host memory, x and y row by row.
struct HostRows {
  std::span<const std::byte> x, y;
  std::int64_t count = 0;

  std::size_t x_row() const { return count ? x.size() / std::size_t(count) : 0; }  // bytes
  std::size_t y_row() const { return count ? y.size() / std::size_t(count) : 0; }
  std::size_t bytes() const { return x.size() + y.size(); }
};

// A data set that does not fit on the device. It comes in windows of `height` rows; two slots of
// device memory take turns, so that a window comes in while the one before it is read.
class RowFeed {
 public:
  struct Window {
    const std::byte *x = nullptr, *y = nullptr;  // [rows of the window] each
  };
  virtual ~RowFeed() = default;
  // Window w holds rows order[w * height], order[w * height + 1], ...; before the first call, the
  // rows as they are stored. order: [count], in the backend's memory.
  virtual void reorder(const std::int32_t* order) = 0;
  // Ops called from here to `close` may read the window; window w is always in slot w % 2. The next
  // window begins to come in. Neither call waits, nor may it be part of a recorded step.
  virtual Window open(std::int64_t window) = 0;
  virtual void close() = 0;
};

// Runs a step's ops. A backend that can record them replays the recording instead; a recording
// belongs to one owner's memory and lives as long as the runner.
class StepRunner {
 public:
  virtual ~StepRunner() = default;
  // `enqueue` calls the same ops with the same arguments whenever it is given the same variant:
  // what changes from step to step is in the clock.
  virtual void run(std::int64_t variant, FunctionRef<void()> enqueue) {
    static_cast<void>(variant);
    enqueue();
  }
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;      // "cpu"
  virtual std::string describe() const = 0;  // "cpu (AVX2, 2 threads)"
  // How a product is done whose operand of `rows` rows is 0/1 (bits) or real: "look-up",
  // "OpenBLAS". A rule on shapes, never a timing: the same seed must give the same bits.
  virtual std::string product_method(bool bits, std::int64_t rows) const {
    static_cast<void>(bits), static_cast<void>(rows);
    return "dense";
  }

  // --- memory
  virtual std::byte* allocate(std::size_t bytes) = 0;  // 64-byte aligned, zeroed; throws Error
  virtual void release(std::byte* data) noexcept = 0;
  virtual void upload(std::span<const std::byte> from, std::byte* to) = 0;
  virtual void download(const std::byte* from, std::span<std::byte> to) = 0;
  // Read-only memory for a data set: the span itself where the device can read it, else a copy held
  // by `copy`.
  virtual const std::byte* stage(std::span<const std::byte> from, Buffer& copy) = 0;
  // What stands in for `stage` where the rows do not fit; null where they do. The rows must outlive
  // it.
  virtual std::unique_ptr<RowFeed> make_feed(const HostRows&, std::int64_t height) {
    static_cast<void>(height);
    return nullptr;
  }
  // How much of the backend's memory the rows will take, staged or fed.
  virtual std::size_t staged_bytes(const HostRows&, std::int64_t height) const {
    static_cast<void>(height);
    return 0;
  }
  virtual std::size_t free_memory() const = 0;  // bytes, about
  virtual std::size_t bits_bytes(std::int64_t rows, std::int64_t cols) const = 0;
  // [rows * cols], each 0 or 1
  virtual void upload_bits(std::span<const std::uint8_t> from, Bits to) = 0;
  virtual void download_bits(ConstBits from, std::span<std::uint8_t> to) = 0;
  virtual void fill_zero(std::byte* data, std::size_t bytes) = 0;
  virtual void synchronize() = 0;
  // May the host read this memory where it lies, and are ops done when they return?
  virtual bool is_host_memory() const { return false; }

  // --- control
  virtual Tiling choose_tiling(const StepShape&) const = 0;
  virtual int lanes() const = 0;  // how many items for_each may run at once
  // Calls fn(item, lane) for each item, lane < min(items, lanes()); items of different lanes may
  // run at once. The first exception is rethrown.
  virtual void for_each(std::int64_t items, FunctionRef<void(std::int64_t, int)> fn) = 0;
  virtual void set_clock(const Clock&) = 0;
  virtual std::unique_ptr<StepRunner> make_step_runner() { return std::make_unique<StepRunner>(); }
  // Named ranges for a profiler; see Range.
  virtual void push_range(const char*) {}
  virtual void pop_range() {}
  // Waits, then tells a profiler where the stretch of interest begins (on) and ends.
  virtual void profiler(bool on) { static_cast<void>(on); }

  // --- data
  virtual void gather(const GatherArgs&) = 0;
  // order = 0 .. count - 1, sorted by shuffle_key
  virtual void shuffle(const DrawKey&, std::int64_t count, std::int32_t* order) = 0;

  // --- products
  virtual void multiply(ConstMatrix z, ConstMatrix W, Matrix out, Write) = 0;  // out = z W
  virtual void multiply(ConstBits z, ConstMatrix W, Matrix out, Write) = 0;
  // out = g W^T
  virtual void multiply_transposed(ConstMatrix g, ConstMatrix W, Matrix out, Write) = 0;
  // gW += z[rows]^T g; row i of g belongs to row rows.index[i] of z
  virtual void accumulate_outer(ConstMatrix z, RowSet rows, ConstMatrix g, Matrix gW) = 0;
  virtual void accumulate_outer(ConstBits z, RowSet rows, ConstMatrix g, Matrix gW) = 0;

  // --- forward
  // s = (u <= sigma(a + b)), u drawn by (example, particle, unit). a [N or N*M, n_s];
  // a.data null: p = 1/2.
  virtual void sample_hidden(const Draw&, const Tile&, ConstMatrix a, const float* b, Bits s) = 0;
  // d = sigma(shared[n] + d + b), in place. shared: [N, n_d], or data null for none.
  virtual void activate(const Tile&, ConstMatrix shared, const float* b, Matrix d) = 0;
  virtual void output_log_prob(const OutputArgs&, float* log_w) = 0;  // [N*M]
  // mean[n] += sum over the rows of o of E[y | o]: class probabilities, sigmoids, or o + c itself
  virtual void accumulate_mean_output(const OutputArgs&, Matrix mean) = 0;

  // --- weigh
  // Eq. (6) (28): w_bar = softmax_m(log_w), C_hat = logsumexp_m(log_w) - log M,
  // ess = 1 / sum_m w_bar^2
  virtual void particle_weights(const Tile&, const float* log_w, float* w_bar, float* C_hat,
                                float* ess) = 0;
  // The rows with w_bar >= threshold, ascending; index has room for N*M.
  virtual RowSet select_rows(const Tile&, const float* w_bar, float threshold,
                             std::int32_t* index) = 0;
  // sums += {sum C_hat, sum ess}, in double
  virtual void accumulate_metrics(std::int64_t N, const float* C_hat, const float* ess,
                                  double* sums) = 0;

  // --- backward
  // Eq. (15) (16): g_o = w_bar * d log P / d o on the rows of the set
  virtual void output_grad(const OutputArgs&, const float* w_bar, RowSet rows, Matrix g_o) = 0;
  virtual void hidden_grad(const HiddenGradArgs&) = 0;
  virtual void deterministic_grad(ConstMatrix d, RowSet rows, Matrix g) = 0;  // g *= d (1 - d)
  // out[n] = sum of the rows of g that belong to example n
  virtual void sum_particles(const Tile&, RowSet rows, ConstMatrix g, Matrix out) = 0;
  virtual void accumulate_column_sums(ConstMatrix g, float* gb) = 0;
  // sums [2, n_s] += sum over all rows of score^2 and score^2 C_hat
  virtual void accumulate_baseline(const Tile&, ConstMatrix a, const float* b, ConstBits s,
                                   const float* C_hat, float* sums) = 0;

  // --- update
  // v = momentum * v + scale * sum of parts; params += learning rate * v
  virtual void update(const UpdateArgs&) = 0;
  virtual void update_baseline(const BaselineUpdateArgs&) = 0;
};

// Numbers out of the backend's memory, as many as `to` holds; waits.
template <class T>
void download(Backend& backend, const T* from, std::span<std::type_identity_t<T>> to) {
  backend.download(reinterpret_cast<const std::byte*>(from), std::as_writable_bytes(to));
}

// A stretch of work under a name that a profiler shows.
class Range {
 public:
  Range(Backend& backend, const char* name) : backend_(backend) { backend_.push_range(name); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  ~Range() { backend_.pop_range(); }

 private:
  Backend& backend_;
};

}  // namespace sfnn
