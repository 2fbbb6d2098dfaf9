// Ranges that Nsight Systems shows; without a profiler they cost next to nothing.
#pragma once

#include <nvtx3/nvToolsExt.h>

namespace sfnn {

inline void push_profiler_range(const char* name) { nvtxRangePushA(name); }
inline void pop_profiler_range() { nvtxRangePop(); }

}  // namespace sfnn
