#include "bench/lib/latency.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sfnn::bench {
namespace {

double trip(const Gpu& gpu) { return kTripCycles / gpu.clock; }

// --- kernels

double blocks_of(const Spread& spread, const Gpu& gpu) {
  const double wanted = std::ceil(spread.warps / spread.warps_per_block);
  return std::min(wanted, double(kBlocksPerMultiprocessor) * gpu.multiprocessors);
}

// Warps that do not fit wait for a place, or are another round of the loop over rows.
double kernel_time(const Spread& spread, const Gpu& gpu) {
  const double blocks = blocks_of(spread, gpu);
  const double resident = double(kResidentThreads) / (kWarp * spread.warps_per_block);
  const double waves = std::ceil(blocks / (resident * gpu.multiprocessors));
  const double items = std::ceil(spread.warps / (blocks * spread.warps_per_block));
  return waves * items * spread.trips * trip(gpu);
}

// --- products

// What a block of a product computes, and the share of a multiprocessor's peak that it reaches:
// assumed. A library takes the best.
struct GemmTile {
  double rows, cols, share;
};
constexpr GemmTile kGemmTiles[] = {
    {256, 128, 0.9}, {128, 128, 0.85}, {128, 64, 0.75}, {64, 64, 0.6}, {32, 32, 0.3}};
constexpr double kTermsWorthASplit = 64;
constexpr double kFillPipeline = 3;  // trips: two before the first terms, one to write the result

double gemm_blocks(const Product& p, const GemmTile& tile, double splits) {
  return std::ceil(double(p.m) / tile.rows) * std::ceil(double(p.n) / tile.cols) * splits;
}

// With its terms cut into `splits`, the sums of which another kernel adds up.
double gemm_time(const Product& p, const GemmTile& tile, double splits, double rate,
                 const Gpu& gpu) {
  const double waves = std::ceil(gemm_blocks(p, tile, splits) / gpu.multiprocessors);
  const double operations = 2 * tile.rows * tile.cols * std::ceil(double(p.k) / splits);
  const double per_block = operations / (tile.share * rate / gpu.multiprocessors);
  const double adding = splits > 1 ? kNodeGap + kKernelStart + 2 * trip(gpu) : 0;
  return waves * per_block + kFillPipeline * trip(gpu) + adding;
}

struct BestGemm {
  double time = std::numeric_limits<double>::infinity(), blocks = 1;
};

BestGemm best_gemm(const Launch& launch, const Gpu& gpu) {
  const Product& p = *launch.product;
  BestGemm best;
  for (const GemmTile& tile : kGemmTiles) {
    for (double splits = 1; splits <= 16; splits *= 2) {
      if (splits > 1 && double(p.k) / splits < kTermsWorthASplit) break;
      const double time = gemm_time(p, tile, splits, gpu.rate(launch.unit), gpu);
      if (time < best.time) best = {time, gemm_blocks(p, tile, splits)};
    }
  }
  return best;
}

}  // namespace

double forecast(const Launch& launch, const Gpu& gpu) {
  const double time =
      launch.product ? best_gemm(launch, gpu).time : kernel_time(launch.spread, gpu);
  return kKernelStart + std::max(time, seconds(launch, gpu));
}

double share_of_device(const Launch& launch, const Gpu& gpu) {
  const double blocks =
      launch.product ? best_gemm(launch, gpu).blocks : blocks_of(launch.spread, gpu);
  return std::min(1.0, blocks / gpu.multiprocessors);
}

double forecast(const std::vector<Launch>& launches, const Gpu& gpu) {
  double sum = 0;
  for (const Launch& launch : launches) sum += kNodeGap + forecast(launch, gpu);
  return sum;
}

double forecast_eager(const std::vector<Launch>& launches, const Gpu& gpu) {
  return std::max(forecast(launches, gpu), kHostLaunch * double(launches.size()));
}

}  // namespace sfnn::bench
