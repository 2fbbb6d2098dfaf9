#include "host/backend/worker_pool.hpp"

#include <fmt/format.h>

#include <system_error>

#include "host/base/error.hpp"

namespace sfnn {
namespace {

// A few microseconds: a training step's regions follow each other closely.
constexpr int kSpins = 2000;

// Returns once `value` differs from `seen`.
template <class T>
void wait_for_change(const std::atomic<T>& value, T seen) {
  for (int i = 0; i < kSpins; ++i) {
    if (value.load(std::memory_order_acquire) != seen) return;
  }
  value.wait(seen, std::memory_order_acquire);
}

}  // namespace

WorkerPool::WorkerPool(int threads) {
  try {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { wait_for_jobs(); });
  } catch (const std::system_error& error) {  // a limit on threads, or on memory for their stacks
    const std::size_t started = workers_.size();
    stop();
    throw Error(fmt::format("the system starts no more than {} of {} threads ({}): use --threads",
                            started + 1, threads, error.code().message()));
  }
}

WorkerPool::~WorkerPool() { stop(); }

void WorkerPool::stop() {
  stopping_.store(true);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void WorkerPool::run(std::int64_t items, Item fn) {
  if (workers_.empty() || items <= 1) {
    for (std::int64_t item = 0; item < items; ++item) fn(item, 0);
    return;
  }
  job_ = &fn;
  items_ = items;
  next_.store(0, std::memory_order_relaxed);
  next_lane_.store(0, std::memory_order_relaxed);
  busy_.store(int(workers_.size()), std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  work();
  for (int left; (left = busy_.load(std::memory_order_acquire)) != 0;) wait_for_change(busy_, left);
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void WorkerPool::work() {
  const int lane = next_lane_.fetch_add(1, std::memory_order_relaxed);
  if (lane >= items_) return;
  try {
    for (std::int64_t item; (item = next_.fetch_add(1, std::memory_order_relaxed)) < items_;) {
      (*job_)(item, lane);
    }
  } catch (...) {
    next_.store(items_, std::memory_order_relaxed);
    const std::lock_guard lock(error_mutex_);
    if (!error_) error_ = std::current_exception();
  }
}

void WorkerPool::wait_for_jobs() {
  std::uint32_t seen = 0;
  while (true) {
    wait_for_change(generation_, seen);
    seen = generation_.load(std::memory_order_acquire);
    if (stopping_.load()) return;
    work();
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
  }
}

}  // namespace sfnn
