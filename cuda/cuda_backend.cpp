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
#include "kernels/grid.hpp"

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
// Rows of a file always come by windows, as the host does not hold them either.
bool CudaBackend::fits(const HostRows& rows) const {
  return rows.reader == nullptr && rows.bytes() <= free_memory() / 2;
}

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

void CudaBackend::do_upload_bits(std::span<const std::uint8_t> from, Bits to) {
  const auto as = [&](auto unit) {
    std::vector<decltype(unit)> units(from.size());
    for (std::size_t e = 0; e < from.size(); ++e) store_unit(units[e], from[e] != 0);
    upload(std::as_bytes(std::span(units)), to.data);
  };
  unit_type() == UnitType::f32 ? as(float{}) : as(Bf16{});
}

void CudaBackend::do_download_bits(ConstBits from, std::span<std::uint8_t> to) {
  const auto as = [&](auto unit) {
    std::vector<decltype(unit)> units(to.size());
    download(from.data, std::as_writable_bytes(std::span(units)));
    for (std::size_t e = 0; e < to.size(); ++e) to[e] = std::uint8_t(load_unit(units[e]));
  };
  unit_type() == UnitType::f32 ? as(float{}) : as(Bf16{});
}

void CudaBackend::run(const FillZeroArgs& p) {
  if (p.bytes) SFNN_CUDA_CHECK(cudaMemsetAsync(p.data, 0, p.bytes, queue_.stream));
}

void CudaBackend::synchronize() { SFNN_CUDA_CHECK(cudaStreamSynchronize(queue_.stream)); }

// --- control

// The whole batch in one tile if it fits: larger products are better, up to a point.
Tiling CudaBackend::choose_tiling(const StepShape& shape) const {
  // Activations, gradients, and the operands that a product wants in another form: at most three
  // times the activations. Parameters, velocity and gradient come on top.
  const double bytes_per_example =
      3.0 * sizeof(float) * double(shape.M * shape.row_floats) + double(shape.example_bytes);
  const double room = 0.9 * double(free_memory()) - double(shape.other_bytes) -
                      3.0 * sizeof(float) * double(shape.parameters);
  const double fits = room / std::max(1.0, bytes_per_example);
  const double enough = double(kRowsEnough) / double(shape.M);
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

void CudaBackend::run(const GatherArgs& p) { SFNN_LAUNCH(launch_gather(p, clock(), queue_)); }

void CudaBackend::run(const ShuffleArgs& p) {
  if (p.count == 0) return;
  sfnn::shuffle(p.key, p.count, shuffle_keys_.get<std::uint64_t>(std::size_t(p.count)), p.order,
                temporaries_, queue_.stream);
}

// --- products

void CudaBackend::run(const MultiplyArgs& p) {
  p.z.is_bits ? blas_.multiply(p.z.bits(), p.W, p.out, p.write)
              : blas_.multiply(p.z.reals(), p.W, p.out, p.write);
}

void CudaBackend::run(const MultiplyTransposedArgs& p) {
  blas_.multiply_transposed(p.g, p.W, p.out, p.write);
}

// The rows of the set, copied together. Room for all of them, so that the next step finds it too.
template <class T>
T* CudaBackend::gathered(const T* z, RowSet rows, std::int64_t height, std::int64_t cols) {
  T* together = gathered_.get<T>(std::size_t(height * cols));
  SFNN_LAUNCH(launch_gather_rows(z, rows, cols, together, queue_));
  return together;
}

ConstMatrix CudaBackend::rows_of(ConstMatrix z, RowSet rows) {
  if (rows.all()) return z;
  return {gathered(z.data, rows, z.rows, z.cols), rows.count, z.cols};
}

ConstBits CudaBackend::rows_of(ConstBits z, RowSet rows) {
  if (rows.all()) return z;
  const auto as = [&](auto* units) {
    return reinterpret_cast<const std::byte*>(gathered(units, rows, z.rows, z.cols));
  };
  return {unit_type() == UnitType::f32 ? as(reinterpret_cast<const float*>(z.data))
                                       : as(reinterpret_cast<const Bf16*>(z.data)),
          rows.count, z.cols};
}

void CudaBackend::run(const AccumulateOuterArgs& p) {
  p.z.is_bits ? blas_.accumulate_outer(rows_of(p.z.bits(), p.rows), p.g, p.gW)
              : blas_.accumulate_outer(rows_of(p.z.reals(), p.rows), p.g, p.gW);
}

// --- forward

void CudaBackend::run(const SampleHiddenArgs& p) {
  SFNN_LAUNCH(launch_sample_hidden(p, unit_type(), clock(), queue_));
}

void CudaBackend::run(const ActivateArgs& p) { SFNN_LAUNCH(launch_activate(p, queue_)); }

void CudaBackend::run(const OutputLogProbArgs& p) {
  SFNN_LAUNCH(launch_output_log_prob(p, queue_));
}

void CudaBackend::run(const AccumulateMeanOutputArgs& p) {
  SFNN_LAUNCH(launch_accumulate_mean_output(p, queue_));
}

// --- weigh

void CudaBackend::run(const ParticleWeightsArgs& p) {
  SFNN_LAUNCH(launch_particle_weights(p, queue_));
}

RowSet CudaBackend::run(const SelectRowsArgs& p) {
  const std::int64_t rows = p.tile.rows();
  if (graph_ || rows == 0) return {nullptr, rows};
  return {p.index,
          sfnn::select_rows(p.w_bar, rows, p.threshold, p.index, temporaries_, queue_.stream)};
}

void CudaBackend::run(const AccumulateMetricsArgs& p) {
  SFNN_LAUNCH(launch_accumulate_metrics(p, queue_));
}

// --- a learned proposal

void CudaBackend::run(const JoinTargetArgs& p) { SFNN_LAUNCH(launch_join_target(p, queue_)); }

void CudaBackend::run(const LogRatioArgs& p) {
  SFNN_LAUNCH(launch_log_ratio(p, unit_type(), queue_));
}

void CudaBackend::run(const ProposalWeightsArgs& p) {
  SFNN_LAUNCH(launch_proposal_weights(p, queue_));
}

void CudaBackend::run(const ProposalGradArgs& p) {
  SFNN_LAUNCH(launch_proposal_grad(p, unit_type(), queue_));
}

// --- backward

void CudaBackend::run(const OutputGradArgs& p) { SFNN_LAUNCH(launch_output_grad(p, queue_)); }

void CudaBackend::run(const PathGradArgs& p) {
  SFNN_LAUNCH(launch_path_grad(p, unit_type(), clock(), queue_));
}

void CudaBackend::run(const ScoreGradArgs& p) {
  SFNN_LAUNCH(launch_score_grad(p, unit_type(), queue_));
}

void CudaBackend::run(const MakeBetaArgs& p) { SFNN_LAUNCH(launch_make_beta(p, queue_)); }

void CudaBackend::run(const DeterministicGradArgs& p) {
  SFNN_LAUNCH(launch_deterministic_grad(p, queue_));
}

void CudaBackend::run(const SumParticlesArgs& p) { SFNN_LAUNCH(launch_sum_particles(p, queue_)); }

void CudaBackend::run(const AccumulateColumnSumsArgs& p) {
  float* scratch = column_sums_.get<float>(std::size_t(kMaxColumnSplits * p.g.cols));
  SFNN_LAUNCH(launch_column_sums(p, scratch, queue_));
}

void CudaBackend::run(const AccumulateBaselineArgs& p) {
  float* scratch = column_sums_.get<float>(std::size_t(kMaxColumnSplits * 2 * p.s.cols));
  SFNN_LAUNCH(launch_baseline_sums(p, unit_type(), scratch, queue_));
}

// --- update

void CudaBackend::run(const UpdateArgs& p) { SFNN_LAUNCH(launch_update(p, clock(), queue_)); }

void CudaBackend::run(const SquareSumsArgs& p) { SFNN_LAUNCH(launch_square_sums(p, queue_)); }

void CudaBackend::run(const GradientNormArgs& p) { SFNN_LAUNCH(launch_gradient_norm(p, queue_)); }

void CudaBackend::run(const BaselineUpdateArgs& p) {
  SFNN_LAUNCH(launch_update_baseline(p, clock(), queue_));
}

}  // namespace sfnn
