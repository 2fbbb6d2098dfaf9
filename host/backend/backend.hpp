// The interface that every device implements: one method per op. The pass above it is written once.
// An op takes one struct (kernels/args.hpp says what it does), which is checked here for every
// backend before the device sees it.
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

#include "host/backend/checks.hpp"
#include "host/backend/device_ops.hpp"
#include "host/backend/op_observer.hpp"
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

// How a step is cut up. Never a matter of how many threads there are: it decides the order of sums.
struct Tiling {
  std::int64_t tile = 0;         // examples
  std::int64_t parts = 1;        // places for sums, a power of two: see kernels/tree_sum.hpp
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

// Rows of a data set that is not in memory. Any thread may ask.
class RowReader {
 public:
  virtual ~RowReader() = default;
  virtual std::size_t x_row() const = 0;  // bytes
  virtual std::size_t y_row() const = 0;
  // Packs rows order[first], order[first + 1], ... one after another; order null: first, first + 1,
  // ... Throws Error if they can no longer be read.
  virtual void read(const std::int32_t* order, std::int64_t first, std::int64_t count, std::byte* x,
                    std::byte* y) const = 0;
  virtual void will_read(const std::int32_t* order, std::int64_t first,
                         std::int64_t count) const = 0;
};

// A data set on the host, x and y row by row: in memory or, if there is one, by a reader.
struct HostRows {
  std::span<const std::byte> x, y;
  std::int64_t count = 0;
  const RowReader* reader = nullptr;

  std::size_t x_row() const { return reader ? reader->x_row() : per_row(x); }  // bytes
  std::size_t y_row() const { return reader ? reader->y_row() : per_row(y); }
  std::size_t bytes() const { return std::size_t(count) * (x_row() + y_row()); }

 private:
  std::size_t per_row(std::span<const std::byte> all) const {
    return count ? all.size() / std::size_t(count) : 0;
  }
};

// A data set that does not fit on the device, or is not in memory. It comes in windows of `height`
// rows. On a device of its own memory two slots take turns, so that a window comes in while the one
// before it is read.
class RowFeed {
 public:
  struct Window {
    const std::byte *x = nullptr, *y = nullptr;  // [rows of the window] each
  };
  virtual ~RowFeed() = default;
  // Window w holds rows order[w * height], order[w * height + 1], ...; before the first call, the
  // rows as they are stored. order: [count], in the backend's memory.
  virtual void reorder(const std::int32_t* order) = 0;
  // Ops called from here to `close` may read the window; on a device, window w is always in slot w %
  // 2. The next window begins to come in. Neither call waits for the device, nor may it be part of a
  // recorded step. Throws Error if rows can no longer be read.
  virtual Window open(std::int64_t window) = 0;
  virtual void close(const Window&) = 0;
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

class Backend : protected DeviceOps<AllOps> {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;      // "cpu"
  virtual std::string describe() const = 0;  // "cpu (AVX2, 2 threads)"
  // How a product is done whose operand of `rows` rows is 0/1 (bits) or real: "look-up
  // (AVX2)". A rule on shapes, never a timing: the same seed must give the same bits.
  virtual std::string product_method(bool bits, std::int64_t rows) const {
    static_cast<void>(bits), static_cast<void>(rows);
    return "dense product";
  }

  // --- memory
  virtual std::byte* allocate(std::size_t bytes) = 0;  // 64-byte aligned, zeroed; throws Error
  virtual void release(std::byte* data) noexcept = 0;
  virtual void upload(std::span<const std::byte> from, std::byte* to) = 0;
  virtual void download(const std::byte* from, std::span<std::byte> to) = 0;
  // Read-only memory for a data set: the span itself if the device can read it, else a copy held
  // by `copy`.
  virtual const std::byte* stage(std::span<const std::byte> from, Buffer& copy) = 0;
  // Replaces `stage` if the rows do not fit; null if they do. The rows must outlive
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
  void upload_bits(std::span<const std::uint8_t> from, Bits to) {
    check_bits_copy("upload_bits", to, from.size());
    do_upload_bits(from, to);
  }
  void download_bits(ConstBits from, std::span<std::uint8_t> to) {
    check_bits_copy("download_bits", from, to.size());
    do_download_bits(from, to);
  }
  void fill_zero(std::byte* data, std::size_t bytes) { call(FillZeroArgs{data, bytes}); }
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
  void gather(const GatherArgs& p) { call(p); }
  void shuffle(const ShuffleArgs& p) { call(p); }

  // --- products
  void multiply(const MultiplyArgs& p) { call(p); }
  void multiply_transposed(const MultiplyTransposedArgs& p) { call(p); }
  void accumulate_outer(const AccumulateOuterArgs& p) { call(p); }

  // --- forward
  void sample_hidden(const SampleHiddenArgs& p) { call(p); }
  void activate(const ActivateArgs& p) { call(p); }
  void output_log_prob(const OutputLogProbArgs& p) { call(p); }
  void accumulate_mean_output(const AccumulateMeanOutputArgs& p) { call(p); }

  // --- weigh
  void particle_weights(const ParticleWeightsArgs& p) { call(p); }
  RowSet select_rows(const SelectRowsArgs& p) { return call(p); }
  void accumulate_metrics(const AccumulateMetricsArgs& p) { call(p); }

  // --- a learned proposal
  void join_target(const JoinTargetArgs& p) { call(p); }
  void log_ratio(const LogRatioArgs& p) { call(p); }
  void proposal_weights(const ProposalWeightsArgs& p) { call(p); }
  void proposal_grad(const ProposalGradArgs& p) { call(p); }

  // --- backward
  void output_grad(const OutputGradArgs& p) { call(p); }
  void path_grad(const PathGradArgs& p) { call(p); }
  void score_grad(const ScoreGradArgs& p) { call(p); }
  void make_beta(const MakeBetaArgs& p) { call(p); }
  void deterministic_grad(const DeterministicGradArgs& p) { call(p); }
  void sum_particles(const SumParticlesArgs& p) { call(p); }
  void accumulate_column_sums(const AccumulateColumnSumsArgs& p) { call(p); }
  void accumulate_baseline(const AccumulateBaselineArgs& p) { call(p); }

  // --- update
  void update(const UpdateArgs& p) { call(p); }
  void square_sums(const SquareSumsArgs& p) { call(p); }
  void gradient_norm(const GradientNormArgs& p) { call(p); }
  void update_baseline(const BaselineUpdateArgs& p) { call(p); }

  // May the `device_count` of a RowSet be set? The others refuse it.
  virtual bool takes_device_counts() const { return false; }

  // Told of every op from here on; null: nobody is.
  void set_observer(OpObserver* observer) { observer_ = observer; }

 protected:
  // Beside `run` of each op.
  virtual void do_upload_bits(std::span<const std::uint8_t> from, Bits to) = 0;
  virtual void do_download_bits(ConstBits from, std::span<std::uint8_t> to) = 0;

 private:
  template <class Args>
  OpResult<Args> call(const Args& p) {
    check(*this, p);
    if (!observer_) return run(p);
    const Watch watch(*observer_, {Args::kName, &p});
    return run(p);
  }

  struct Watch {
    Watch(OpObserver& told, const OpCall& op) : observer(told) { observer.begin(op); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch() { observer.end(); }
    OpObserver& observer;
  };

  OpObserver* observer_ = nullptr;
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
