#include "host/backend/host_backend.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "host/backend/free_memory.hpp"
#include "host/backend/host_row_feed.hpp"
#include "host/backend/team.hpp"
#include "host/base/error.hpp"
#include "kernels/baseline.hpp"
#include "kernels/update.hpp"

namespace sfnn {
namespace {

constexpr std::size_t kAlignment = 64, kLargePage = std::size_t(2) << 20;
constexpr std::int64_t kZeroRange = 1 << 16;  // bytes

}  // namespace

// Large blocks ask for large pages: a product that walks down a column of W else looks up a page a
// row.
std::byte* HostBackend::allocate(std::size_t bytes) {
  const std::size_t alignment = bytes < 2 * kLargePage ? kAlignment : kLargePage;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* data = rounded < bytes ? nullptr : std::aligned_alloc(alignment, rounded);
  if (!data) throw Error(fmt::format("out of memory: {} bytes were asked for", bytes));
#ifdef MADV_HUGEPAGE
  if (alignment == kLargePage) madvise(data, rounded, MADV_HUGEPAGE);  // refused: small ones serve
#endif
  std::memset(data, 0, rounded);
  return static_cast<std::byte*>(data);
}

void HostBackend::release(std::byte* data) noexcept { std::free(data); }

void HostBackend::upload(std::span<const std::byte> from, std::byte* to) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size());
}

void HostBackend::download(const std::byte* from, std::span<std::byte> to) {
  if (!to.empty()) std::memcpy(to.data(), from, to.size());
}

const std::byte* HostBackend::stage(std::span<const std::byte> from, Buffer&) {
  return from.data();
}

std::unique_ptr<RowFeed> HostBackend::make_feed(const HostRows& rows, std::int64_t height) {
  if (rows.reader == nullptr) return nullptr;
  return std::make_unique<HostRowFeed>(rows, height);
}

std::size_t HostBackend::staged_bytes(const HostRows& rows, std::int64_t height) const {
  return rows.reader ? HostRowFeed::window_bytes(rows, height) : 0;
}

std::size_t HostBackend::free_memory() const { return free_host_memory(); }

void HostBackend::run(const FillZeroArgs& p) {
  share_range(std::int64_t(p.bytes), 1, kZeroRange, [&](std::int64_t first, std::int64_t count) {
    std::memset(p.data + first, 0, std::size_t(count));
  });
}

void HostBackend::run(const ShuffleArgs& p) {
  std::vector<std::pair<std::uint64_t, std::int32_t>> keyed(p.count);
  for (std::int64_t i = 0; i < p.count; ++i)
    keyed[i] = {shuffle_key(p.key, std::uint32_t(i)), std::int32_t(i)};
  std::sort(keyed.begin(), keyed.end());
  for (std::int64_t i = 0; i < p.count; ++i) p.order[i] = keyed[i].second;
}

RowSet HostBackend::run(const SelectRowsArgs& p) {
  std::int64_t count = 0;
  for (std::int64_t r = 0; r < p.tile.rows(); ++r) {
    p.index[count] = std::int32_t(r);
    count += p.w_bar[r] >= p.threshold;
  }
  return {p.index, count};
}

void HostBackend::run(const AccumulateMetricsArgs& p) {
  for (std::int64_t n = 0; n < p.N; ++n) {
    p.sums[0] += p.C_hat[n];
    p.sums[1] += p.ess[n];
  }
}

void HostBackend::run(const JoinTargetArgs& p) {
  for (std::int64_t n = 0; n < p.out.rows; ++n) {
    float* out = std::copy_n(p.x.row(n), p.x.cols, p.out.row(n));
    for (std::int64_t i = 0; i < p.out.cols - p.x.cols; ++i)
      out[i] = target_at(p.output, p.y.row(n), i);
  }
}

void HostBackend::run(const ProposalWeightsArgs& p) {
  for (std::int64_t r = 0; r < p.tile.rows(); ++r) proposal_weights_at(p, r);
}

void HostBackend::run(const MakeBetaArgs& p) {
  for (std::int64_t i = 0; i < p.n_s; ++i)
    p.beta[i] = baseline_at(p.averages[i], p.averages[p.n_s + i]);
}

void HostBackend::run(const GradientNormArgs& p) {
  double squares = 0;
  for (std::int64_t run = 0; run < p.count; ++run) squares += p.square_sums[run];
  leave_norm(p, std::sqrt(squares));
}

void HostBackend::run(const BaselineUpdateArgs& p) {
  for (std::int64_t i = 0; i < p.size; ++i) {
    const float value = p.scale * part_sum(p.parts, i);
    p.averages[i] = moved_average(clock().step == 0, p.averages[i], value, p.decay);
  }
}

}  // namespace sfnn
