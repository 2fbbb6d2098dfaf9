// The two clocks that benchmarks read.
#pragma once

#include <ctime>

namespace sfnn::bench {

inline double milliseconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return 1e3 * double(now.tv_sec) + 1e-6 * double(now.tv_nsec);
}

inline double wall_ms() { return milliseconds(CLOCK_MONOTONIC); }
// CPU time of all threads of the process: other processes on a shared machine do not count.
inline double cpu_ms() { return milliseconds(CLOCK_PROCESS_CPUTIME_ID); }

}  // namespace sfnn::bench
