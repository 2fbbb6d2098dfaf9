#include "cuda/cuda_backend.hpp"

#include <cuda_profiler_api.h>
#include <fmt/format.h>

#include <algorithm>

#include "cuda/check.hpp"
#include "cuda/device.hpp"
#include "cuda/nvtx.hpp"
#include "cuda/row_feed.hpp"
#include "cuda/step_graph.hpp"
#include "kernels/column_splits.hpp"

namespace sfnn {
namespace {

#ifdef SFNN_SYNC_LAUNCHES
constexpr bool kSyncLaunches = true;  // for hunting faults: the launch that fails is the one named
#else
constexpr bool kSyncLaunches = false;
#endif

Queue make_queue(int device, const Stream& stream) {
  Queue queue{.stream = stream.get()};
  SFNN_CUDA_CHECK(
      cudaDeviceGetAttribute(&queue.multiprocessors, cudaDevAttrMultiProcessorCount, device));
  return queue;
}

Stream make_stream_on(int device) {
  SFNN_CUDA_CHECK(cudaSetDevice(device));
  return make_stream();
}

}  // namespace

#define SFNN_LAUNCH(expression)                                                         \
  do {                                                                                  \
    SFNN_CUDA_CHECK(expression);                                                        \
    if constexpr (kSyncLaunches) SFNN_CUDA_CHECK(cudaStreamSynchronize(queue_.stream)); \
  } while (false)

std::unique_ptr<Backend> make_cuda_backend(const CudaOptions& options, std::string& why_not) {
  const MathMode math = parse_math_mode(options.math);
  try {
    why_not = why_no_cuda_device(options.device);
    if (why_not.empty())
      return std::make_unique<CudaBackend>(cuda_device_id(options.device), math, options.graph);
  } catch (const DeviceFullError& error) {
    why_not = error.lack;
  } catch (const CudaError& error) {
    why_not = error.what();
  }
  return nullptr;
}

CudaBackend::CudaBackend(int device, MathMode math, bool graph)
    : graph_(graph && !kSyncLaunches),
      stream_(make_stream_on(device)),
      queue_(make_queue(device, stream_)),
      blas_(math, queue_, scratch_moves_),
      clock_(make_device_memory(sizeof(Clock))) {
  cudaDeviceProp properties{};
  SFNN_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  description_ = fmt::format("cuda ({}, {} products, {})", properties.name, to_string(math),
                             graph_ ? "steps as graphs" : "launch by launch");
  set_clock({});
}

// --- memory

std::byte* CudaBackend::allocate(std::size_t bytes) {
  DeviceMemory memory = make_device_memory(bytes);
  fill_zero(memory.get(), bytes);
  return memory.release();
}

void CudaBackend::release(std::byte* data) noexcept { static_cast<void>(cudaFree(data)); }

// The source may be gone as soon as we return.
void CudaBackend::upload(std::span<const std::byte> from, std::byte* to) {
  if (from.empty()) return;
  SFNN_CUDA_CHECK(
      cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyHostToDevice, queue_.stream));
  synchronize();
}

void CudaBackend::download(const std::byte* from, std::span<std::byte> to) {
  if (to.empty()) return;
  SFNN_CUDA_CHECK(
      cudaMemcpyAsync(to.data(), from, to.size(), cudaMemcpyDeviceToHost, queue_.stream));
  synchronize();
}

const std::byte* CudaBackend::stage(std::span<const std::byte> from, Buffer& copy) {
  copy = Buffer(*this, from.size());
  upload(from, copy.data());
  return copy.data();
}

// Half of what is free is left to the parameters and the tiles.
bool CudaBackend::fits(const HostRows& rows) const { return rows.bytes() <= free_memory() / 2; }

std::unique_ptr<RowFeed> CudaBackend::make_feed(const HostRows& rows, std::int64_t height) {
  if (fits(rows)) return nullptr;
  return std::make_unique<CudaRowFeed>(rows, height, queue_.stream);
}

std::size_t CudaBackend::staged_bytes(const HostRows& rows, std::int64_t height) const {
  if (fits(rows)) return rows.bytes();
  return CudaRowFeed::device_bytes(rows, height);
}

std::size_t CudaBackend::free_memory() const {
  std::size_t free = 0, total = 0;
  SFNN_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return free;
}

std::size_t CudaBackend::unit_bytes() const {
  return unit_type() == UnitType::f32 ? sizeof(float) : sizeof(Bf16);
}

std::size_t CudaBackend::bits_bytes(std::int64_t rows, std::int64_t cols) const {
  return std::size_t(rows) * cols * unit_bytes();
}

void CudaBackend::upload_bits(std::span<const std::uint8_t> from, Bits to) {
  const auto as = [&](auto unit) {
    std::vector<decltype(unit)> units(from.size());
    for (std::size_t e = 0; e < from.size(); ++e) store_unit(units[e], from[e] != 0);
    upload(std::as_bytes(std::span(units)), to.data);
  };
  unit_type() == UnitType::f32 ? as(float{}) : as(Bf16{});
}

void CudaBackend::download_bits(ConstBits from, std::span<std::uint8_t> to) {
  const auto as = [&](auto unit) {
    std::vector<decltype(unit)> units(to.size());
    download(from.data, std::as_writable_bytes(std::span(units)));
    for (std::size_t e = 0; e < to.size(); ++e) to[e] = std::uint8_t(load_unit(units[e]));
  };
  unit_type() == UnitType::f32 ? as(float{}) : as(Bf16{});
}

void CudaBackend::fill_zero(std::byte* data, std::size_t bytes) {
  if (bytes) SFNN_CUDA_CHECK(cudaMemsetAsync(data, 0, bytes, queue_.stream));
}

void CudaBackend::synchronize() { SFNN_CUDA_CHECK(cudaStreamSynchronize(queue_.stream)); }

// --- control

// The whole batch in one tile where it fits: the larger the products, the better, up to a point.
Tiling CudaBackend::choose_tiling(const StepShape& shape) const {
  // Activations, gradients, and the operands that a product wants in another form: at most three
  // times the activations. Parameters, velocity and gradient come on top.
  const double bytes_per_example =
      3.0 * sizeof(float) * double(shape.M * shape.row_floats) + double(shape.example_bytes);
  const double room = 0.9 * double(free_memory()) - double(shape.other_bytes) -
                      3.0 * sizeof(float) * double(shape.parameters);
  const double fits = room / std::max(1.0, bytes_per_example);
  constexpr double kRowsEnough = 1 << 17;  // products of more rows run no faster
  const double enough = kRowsEnough / double(shape.M);
  const double wanted = std::clamp(enough, 1.0, std::max(1.0, double(shape.batch)));
  return {.tile = std::int64_t(std::clamp(fits, 1.0, wanted)),
          .parts = 1,
          .short_of_memory = fits < wanted};
}

void CudaBackend::for_each(std::int64_t items, FunctionRef<void(std::int64_t, int)> fn) {
  for (std::int64_t item = 0; item < items; ++item) fn(item, 0);
}

void CudaBackend::set_clock(const Clock& clock) {
  SFNN_LAUNCH(launch_set_clock(reinterpret_cast<Clock*>(clock_.get()), clock, queue_));
}

std::unique_ptr<StepRunner> CudaBackend::make_step_runner() {
  if (!graph_) return Backend::make_step_runner();
  return std::make_unique<StepGraph>(queue_.stream, scratch_moves_);
}

void CudaBackend::push_range(const char* name) { push_profiler_range(name); }
void CudaBackend::pop_range() { pop_profiler_range(); }

void CudaBackend::profiler(bool on) {
  synchronize();
  SFNN_CUDA_CHECK(on ? cudaProfilerStart() : cudaProfilerStop());
}

// --- data

void CudaBackend::gather(const GatherArgs& p) { SFNN_LAUNCH(launch_gather(p, clock(), queue_)); }

void CudaBackend::shuffle(const DrawKey& key, std::int64_t count, std::int32_t* order) {
  if (count == 0) return;
  sfnn::shuffle(key, count, shuffle_keys_.get<std::uint64_t>(std::size_t(count)), order,
                temporaries_, queue_.stream);
}

// --- products

void CudaBackend::multiply(ConstMatrix z, ConstMatrix W, Matrix out, Write write) {
  blas_.multiply(z, W, out, write);
}

void CudaBackend::multiply(ConstBits z, ConstMatrix W, Matrix out, Write write) {
  blas_.multiply(z, W, out, write);
}

void CudaBackend::multiply_transposed(ConstMatrix g, ConstMatrix W, Matrix out, Write write) {
  blas_.multiply_transposed(g, W, out, write);
}

// The rows of the set, copied together. Room for all of them, so that the next step finds it too.
template <class T>
T* CudaBackend::gathered(const T* z, RowSet rows, std::int64_t height, std::int64_t cols) {
  T* together = gathered_.get<T>(std::size_t(height * cols));
  SFNN_LAUNCH(launch_gather_rows(z, rows, cols, together, queue_));
  return together;
}

void CudaBackend::accumulate_outer(ConstMatrix z, RowSet rows, ConstMatrix g, Matrix gW) {
  if (!rows.all()) z = {gathered(z.data, rows, z.rows, z.cols), rows.count, z.cols};
  blas_.accumulate_outer(z, g, gW);
}

void CudaBackend::accumulate_outer(ConstBits z, RowSet rows, ConstMatrix g, Matrix gW) {
  if (!rows.all()) {
    const auto as = [&](auto* units) {
      return reinterpret_cast<const std::byte*>(gathered(units, rows, z.rows, z.cols));
    };
    z = {unit_type() == UnitType::f32 ? as(reinterpret_cast<const float*>(z.data))
                                      : as(reinterpret_cast<const Bf16*>(z.data)),
         rows.count, z.cols};
  }
  blas_.accumulate_outer(z, g, gW);
}

// --- forward

void CudaBackend::sample_hidden(const Draw& draw, const Tile& tile, ConstMatrix a, const float* b,
                                Bits s) {
  SFNN_LAUNCH(launch_sample_hidden({draw, tile, a, b, s}, unit_type(), clock(), queue_));
}

void CudaBackend::activate(const Tile& tile, ConstMatrix shared, const float* b, Matrix d) {
  SFNN_LAUNCH(launch_activate(tile, shared, b, d, queue_));
}

void CudaBackend::output_log_prob(const OutputArgs& p, float* log_w) {
  SFNN_LAUNCH(launch_output_log_prob(p, log_w, queue_));
}

void CudaBackend::accumulate_mean_output(const OutputArgs& p, Matrix mean) {
  SFNN_LAUNCH(launch_accumulate_mean_output(p, mean, queue_));
}

// --- weigh

void CudaBackend::particle_weights(const Tile& tile, const float* log_w, float* w_bar, float* C_hat,
                                   float* ess) {
  SFNN_LAUNCH(launch_particle_weights(tile, log_w, w_bar, C_hat, ess, queue_));
}

RowSet CudaBackend::select_rows(const Tile& tile, const float* w_bar, float threshold,
                                std::int32_t* index) {
  if (graph_ || tile.rows() == 0) return {nullptr, tile.rows()};
  return {index,
          sfnn::select_rows(w_bar, tile.rows(), threshold, index, temporaries_, queue_.stream)};
}

void CudaBackend::accumulate_metrics(std::int64_t N, const float* C_hat, const float* ess,
                                     double* sums) {
  SFNN_LAUNCH(launch_accumulate_metrics(N, C_hat, ess, sums, queue_));
}

// --- backward

void CudaBackend::output_grad(const OutputArgs& p, const float* w_bar, RowSet rows, Matrix g_o) {
  SFNN_LAUNCH(launch_output_grad(p, w_bar, rows, g_o, queue_));
}

void CudaBackend::hidden_grad(const HiddenGradArgs& p) {
  SFNN_LAUNCH(launch_hidden_grad(p, unit_type(), queue_));
}

void CudaBackend::deterministic_grad(ConstMatrix d, RowSet rows, Matrix g) {
  SFNN_LAUNCH(launch_deterministic_grad(d, rows, g, queue_));
}

void CudaBackend::sum_particles(const Tile& tile, RowSet rows, ConstMatrix g, Matrix out) {
  SFNN_LAUNCH(launch_sum_particles(tile, rows, g, out, queue_));
}

void CudaBackend::accumulate_column_sums(ConstMatrix g, float* gb) {
  float* scratch = column_sums_.get<float>(std::size_t(kMaxColumnSplits * g.cols));
  SFNN_LAUNCH(launch_column_sums(g, gb, scratch, queue_));
}

void CudaBackend::accumulate_baseline(const Tile& tile, ConstMatrix a, const float* b, ConstBits s,
                                      const float* C_hat, float* sums) {
  float* scratch = column_sums_.get<float>(std::size_t(kMaxColumnSplits * 2 * s.cols));
  SFNN_LAUNCH(launch_baseline_sums(tile, a, b, s, unit_type(), C_hat, sums, scratch, queue_));
}

// --- update

void CudaBackend::update(const UpdateArgs& p) { SFNN_LAUNCH(launch_update(p, clock(), queue_)); }

void CudaBackend::update_baseline(const BaselineUpdateArgs& p) {
  SFNN_LAUNCH(launch_update_baseline(p, clock(), queue_));
}

}  // namespace sfnn
