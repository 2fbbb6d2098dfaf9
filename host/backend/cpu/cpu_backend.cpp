#include "host/backend/cpu/cpu_backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "host/backend/cpu/amx.hpp"
#include "host/backend/cpu/bit_product.hpp"
#include "host/backend/cpu/dense_product.hpp"
#include "host/backend/cpu/growing_buffer.hpp"
#include "host/backend/cpu/hidden.hpp"
#include "host/backend/cpu/output.hpp"
#include "host/backend/cpu/packed_bits.hpp"
#include "host/backend/cpu/proposal.hpp"
#include "host/backend/cpu/sample.hpp"
#include "host/backend/cpu/simd.hpp"
#include "host/backend/cpu/tile_product.hpp"
#include "host/backend/cpu/update.hpp"
#include "host/backend/team.hpp"
#include "hwy/targets.h"

namespace sfnn {
namespace {

// Rows of z as floats, for dense products with some of them. There is room for all: how many are
// selected changes from step to step.
thread_local GrowingBuffer<float> dense_rows;

ConstMatrix unpacked(ConstBits z, RowSet rows) {
  float* out = dense_rows.room(std::size_t(z.rows * z.cols));
  share_range(rows.count, z.cols, 1, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t k = first; k < first + count; ++k) {
      const std::uint64_t* row = row_words(z, rows.source(k));
      for (std::int64_t i = 0; i < z.cols; ++i) out[k * z.cols + i] = float(bit_at(row, i));
    }
  });
  return {out, rows.count, z.cols};
}

ConstMatrix gathered(ConstMatrix z, RowSet rows) {
  float* out = dense_rows.room(std::size_t(z.rows * z.cols));
  share_range(rows.count, z.cols, 1, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t k = first; k < first + count; ++k)
      std::copy_n(z.row(rows.index[k]), z.cols, out + k * z.cols);
  });
  return {out, rows.count, z.cols};
}

// The best that this processor has of those that are compiled.
std::int64_t best_target() {
  const std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  return targets & -targets;
}

const char* instruction_set() {
  const std::int64_t best = best_target();
  return best == HWY_AVX3 ? "AVX-512" : hwy::TargetName(best);
}

}  // namespace

// A processor with AMX has AVX-512; who asks for less gets none of either.
TileKernel CpuBackend::best_tiles() { return best_target() == HWY_AVX3 ? amx_kernel() : nullptr; }

std::string CpuBackend::describe() const {
  return fmt::format("cpu ({}{}, {} thread{})", instruction_set(), tiles_ ? ", AMX" : "", lanes(),
                     lanes() == 1 ? "" : "s");
}

std::string CpuBackend::product_method(bool bits, std::int64_t rows) const {
  if (!bits || !lookup_pays(rows)) return fmt::format("dense product ({})", instruction_set());
  if (tiles_) return "AMX (three int8 digits)";
  const bool refused = best_target() == HWY_AVX3 && amx() == Amx::refused;
  return fmt::format("look-up ({}{}{})", instruction_set(), refused ? "; " : "",
                     refused ? to_string(Amx::refused) : "");
}

std::size_t CpuBackend::bits_bytes(std::int64_t rows, std::int64_t cols) const {
  return std::size_t(rows) * std::size_t(words_per_row(cols)) * sizeof(std::uint64_t);
}

void CpuBackend::do_upload_bits(std::span<const std::uint8_t> from, Bits to) {
  for (std::int64_t r = 0; r < to.rows; ++r) {
    std::uint64_t* row = row_words(to, r);
    std::fill_n(row, words_per_row(to.cols), std::uint64_t(0));
    for (std::int64_t i = 0; i < to.cols; ++i)
      row[i / 64] |= std::uint64_t(from[std::size_t(r * to.cols + i)] != 0) << (i % 64);
  }
}

void CpuBackend::do_download_bits(ConstBits from, std::span<std::uint8_t> to) {
  for (std::int64_t r = 0; r < from.rows; ++r)
    for (std::int64_t i = 0; i < from.cols; ++i)
      to[std::size_t(r * from.cols + i)] = bit_at(row_words(from, r), i);
}

// Tiles of some hundreds of rows: fewer do not pay for the look-up tables (250 rows cost a tenth
// more than 500), more fall out of the caches without gain, unless the network is large: every tile
// reads all weights and adds to all of their gradient. Yet threads need tiles: four at least,
// unless they become too small even for a dense product. A part that has tiles costs two passes
// over the parameters, so that a large network on few rows gets fewer, and larger, tiles. Their
// number is a power of two or a multiple of the parts, for two, four or eight threads to end
// together; but an example whose particles fill a tile has it alone, so that memory does not grow
// with particles more than it must.
Tiling CpuBackend::choose_tiling(const StepShape& shape) const {
  constexpr std::int64_t kGoodRows = 480, kLeastRows = 32, kCacheFloats = 1 << 17, kParts = 8;
  const std::int64_t batch = std::max<std::int64_t>(1, shape.batch);
  const std::int64_t rows = batch * std::max<std::int64_t>(1, shape.M);
  const std::int64_t row_floats = std::max<std::int64_t>(1, shape.row_floats);
  const std::int64_t for_weights = std::min(2 * kGoodRows, shape.parameters / 4096);
  const std::int64_t good_rows = std::max({kGoodRows, kCacheFloats / row_floats, for_weights});
  if (shape.M >= good_rows) return {.tile = 1, .parts = kParts};
  const std::int64_t good = rows / good_rows;
  const std::int64_t least = std::min<std::int64_t>(4, rows / kLeastRows);
  const std::int64_t wanted = std::clamp<std::int64_t>(std::max(good, least), 1, batch);
  const std::int64_t affordable =
      rows * row_floats / (2 * std::max<std::int64_t>(1, shape.parameters));
  const std::int64_t used = std::int64_t(std::bit_floor(
      std::uint64_t(std::clamp<std::int64_t>(std::min(wanted, affordable), 1, kParts))));
  const std::int64_t tiles = used < kParts ? used : wanted / kParts * kParts;
  return {.tile = (batch + tiles - 1) / tiles, .parts = kParts};
}

void CpuBackend::run(const GatherArgs& p) {
  cpu::gather(p, key(p.binarize_draw), key(p.noise_draw), clock().first + p.tile.first);
}

void CpuBackend::run(const MultiplyArgs& p) {
  if (!p.z.is_bits) {
    dense::multiply(p.z.reals(), p.W, p.out, p.write);
  } else if (!lookup_pays(p.z.rows)) {
    dense::multiply(unpacked(p.z.bits(), {nullptr, p.z.rows}), p.W, p.out, p.write);
  } else if (tiles_) {
    tile_product(tiles_, p.z.bits(), p.W, p.out, p.write);
  } else {
    bit_product(p.z.bits(), p.W, p.out, p.write);
  }
}

void CpuBackend::run(const MultiplyTransposedArgs& p) {
  dense::multiply_transposed(p.g, p.W, p.out, p.write);
}

void CpuBackend::run(const AccumulateOuterArgs& p) {
  if (!p.z.is_bits) {
    dense::accumulate_outer(p.rows.all() ? p.z.reals() : gathered(p.z.reals(), p.rows), p.g, p.gW);
  } else if (!lookup_pays(p.z.cols)) {
    dense::accumulate_outer(unpacked(p.z.bits(), p.rows), p.g, p.gW);
  } else if (tiles_) {
    tile_outer_product(tiles_, p.z.bits(), p.rows, p.g, p.gW);
  } else {
    bit_outer_product(p.z.bits(), p.rows, p.g, p.gW);
  }
}

void CpuBackend::run(const SampleHiddenArgs& p) { cpu::sample_hidden(p, key(p.draw)); }

void CpuBackend::run(const ActivateArgs& p) { cpu::activate(p); }

void CpuBackend::run(const OutputLogProbArgs& p) { cpu::output_log_prob(p); }

void CpuBackend::run(const AccumulateMeanOutputArgs& p) { cpu::accumulate_mean_output(p); }

void CpuBackend::run(const ParticleWeightsArgs& p) { cpu::particle_weights(p); }

void CpuBackend::run(const LogRatioArgs& p) { cpu::log_ratio(p); }

void CpuBackend::run(const ProposalGradArgs& p) { cpu::proposal_grad(p); }

void CpuBackend::run(const OutputGradArgs& p) { cpu::output_grad(p); }

void CpuBackend::run(const PathGradArgs& p) { cpu::path_grad(p, key(p.draw)); }

void CpuBackend::run(const ScoreGradArgs& p) {
  cpu::score_grad(p);
  if (p.omega_R) cpu::add_proposal_scores(p);
}

void CpuBackend::run(const DeterministicGradArgs& p) { cpu::deterministic_grad(p); }

void CpuBackend::run(const SumParticlesArgs& p) { cpu::sum_particles(p); }

void CpuBackend::run(const AccumulateColumnSumsArgs& p) { cpu::accumulate_column_sums(p); }

void CpuBackend::run(const AccumulateBaselineArgs& p) { cpu::accumulate_baseline(p); }

void CpuBackend::run(const UpdateArgs& p) {
  for_each_runs(square_runs(p.size), [&](std::int64_t first, std::int64_t count) {
    cpu::update(p, clock(), first, count);
  });
}

void CpuBackend::run(const SquareSumsArgs& p) {
  for_each_runs(square_runs(p.size),
                [&](std::int64_t first, std::int64_t count) { cpu::square_sums(p, first, count); });
}

// Some runs of squares per item: an item should be worth a thread's while.
void CpuBackend::for_each_runs(std::int64_t runs,
                               FunctionRef<void(std::int64_t, std::int64_t)> fn) {
  constexpr std::int64_t kRuns = 8;
  for_each((runs + kRuns - 1) / kRuns, [&](std::int64_t item, int) {
    const std::int64_t first = item * kRuns;
    fn(first, std::min(kRuns, runs - first));
  });
}

}  // namespace sfnn
