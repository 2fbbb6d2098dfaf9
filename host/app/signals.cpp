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

// A closed terminal often sends it twice, from the kernel and from the shell.
void on_hang_up(int) { stop = true; }

// What the caller has ignored stays ignored: SIGHUP under nohup, Ctrl-C for a script's background
// jobs.
void handle(int signal, void (*handler)(int)) {
  if (std::signal(signal, handler) == SIG_IGN) std::signal(signal, SIG_IGN);
}

}  // namespace

void catch_stop_signals() {
  handle(SIGINT, on_signal);
  handle(SIGTERM, on_signal);
  handle(SIGHUP, on_hang_up);
}

bool stop_requested() { return stop.load(std::memory_order_relaxed); }

}  // namespace sfnn
