// Threads that wait for work. The calling thread is one of them: a pool of one starts none.
#pragma once

#include <cstdint>
#include <thread>
#include <vector>

#include "host/backend/team.hpp"
#include "host/base/function_ref.hpp"

namespace sfnn {

class WorkerPool {
 public:
  using Item = FunctionRef<void(std::int64_t item, int lane)>;

  explicit WorkerPool(int threads);  // throws Error if the system does not start them all
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int size() const { return int(seats_.size()); }
  // Calls fn(item, lane) for item = 0 .. items-1 and waits for all. Which lane takes an item is a
  // matter of chance, so results must not depend on it; lane < min(items, size()). An exception is
  // rethrown here; the rest is then not begun. If there are fewer items than threads, all threads
  // are dealt out evenly to the items: each has a team (team.hpp) that shares the loops of its ops.
  // A call from inside of an item is a plain loop.
  void run(std::int64_t items, Item fn);

  // Items and shared blocks that each thread has done so far. Not while `run` is under way.
  std::vector<std::int64_t> work_done() const;

 private:
  void stop();  // waits for the threads' end

  std::vector<Seat> seats_;  // the first is the calling thread's
  std::vector<std::thread> workers_;
};

}  // namespace sfnn
