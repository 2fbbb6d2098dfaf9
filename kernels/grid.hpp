// How many blocks a launch has. A plain function, so that it can be tested anywhere.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sfnn {

constexpr int kWarp = 32;
constexpr int kThreads = 256;  // threads per block, unless a kernel says otherwise
constexpr int kWarpsPerBlock = kThreads / kWarp;
// Minimum resident threads per multiprocessor: 1536, i.e. 75 % of one with 2048 threads, 100 % of
// one with 1536; Turing has 1024.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 750
constexpr int kResidentThreads = 1024;
#else
constexpr int kResidentThreads = 1536;
#endif
constexpr int kMinBlocks = kResidentThreads / kThreads;
// Kernels stride over their grid, so more blocks than this only cost launch time.
constexpr std::int64_t kBlocksPerMultiprocessor = 16;

// Products with more rows run no faster: a step is cut into tiles of this many.
constexpr std::int64_t kRowsEnough = 1 << 17;

// Enough blocks for `items`, `per_block` of them each, but no more than keep the device busy.
// At least one: a grid of zero blocks is an error. Callers skip the launch if there is no work.
inline unsigned grid_for(std::int64_t items, std::int64_t per_block, int multiprocessors) {
  const std::int64_t needed = (items + per_block - 1) / per_block;
  return unsigned(std::clamp<std::int64_t>(needed, 1, kBlocksPerMultiprocessor * multiprocessors));
}

}  // namespace sfnn
