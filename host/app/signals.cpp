#include "host/app/signals.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>

namespace sfnn {
namespace {

std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may not wait");

void on_signal(int signal) {
  if (stop.exchange(true)) std::_Exit(128 + signal);
}

// A terminal that is closed often sends it twice, by the kernel and by the shell.
void on_hang_up(int) { stop = true; }

}  // namespace

void catch_stop_signals() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  if (std::signal(SIGHUP, on_hang_up) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);  // under nohup
}

bool stop_requested() { return stop.load(std::memory_order_relaxed); }

}  // namespace sfnn
