// What the launchers share.
#pragma once

#include "kernels/grid.hpp"
#include "kernels/launch.hpp"

namespace sfnn {

// One warp per item, or one thread per item.
inline unsigned grid_of_warps(std::int64_t items, const Queue& q) {
  return grid_for(items, kWarpsPerBlock, q.multiprocessors);
}
inline unsigned grid_of_threads(std::int64_t items, const Queue& q) {
  return grid_for(items, kThreads, q.multiprocessors);
}

}  // namespace sfnn
