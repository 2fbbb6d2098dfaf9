// Threads that wait for work. The calling thread is one of them: a pool of one starts none.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "host/base/function_ref.hpp"

namespace sfnn {

class WorkerPool {
 public:
  using Item = FunctionRef<void(std::int64_t item, int lane)>;

  explicit WorkerPool(int threads);  // throws Error where the system does not start them all
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int size() const { return int(workers_.size()) + 1; }
  // Calls fn(item, lane) for item = 0 .. items-1 and waits for all. Which lane takes an item is a
  // matter of chance, so results must not depend on it; lane < min(items, size()). The first
  // exception is rethrown here; the rest is then not begun.
  void run(std::int64_t items, Item fn);

 private:
  void work();
  void wait_for_jobs();
  void stop();  // waits for the threads' end

  std::vector<std::thread> workers_;
  const Item* job_ = nullptr;
  std::int64_t items_ = 0;
  std::atomic<std::int64_t> next_{0};
  std::atomic<int> next_lane_{0};  // lanes are numbered as threads come to the job
  std::atomic<int> busy_{0};
  std::atomic<std::uint32_t> generation_{0};  // counts jobs; its change wakes the workers
  std::atomic<bool> stopping_{false};
  std::mutex error_mutex_;
  std::exception_ptr error_;
};

}  // namespace sfnn
