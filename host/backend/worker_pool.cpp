#include "host/backend/worker_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <system_error>
#include <utility>

#include "host/base/error.hpp"

namespace sfnn {
WorkerPool::WorkerPool(int threads) : seats_(std::size_t(std::max(1, threads))) {
  try {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { seats_[i].serve(); });
  } catch (const std::system_error& error) {  // a limit on threads, or on memory for their stacks
    const std::size_t started = workers_.size();
    stop();
    throw Error(fmt::format("the system starts no more than {} of {} threads ({}): use --threads",
                            started + 1, threads, error.code().message()));
  }
}

WorkerPool::~WorkerPool() { stop(); }

void WorkerPool::stop() {
  for (std::size_t i = 0; i < workers_.size(); ++i) seats_[i + 1].dismiss();
  for (std::thread& worker : workers_) worker.join();
}

void WorkerPool::run(std::int64_t items, Item fn) {
  if (is_inside()) {
    for (std::int64_t item = 0; item < items; ++item) fn(item, 0);
    return;
  }
  const int lanes = int(std::min<std::int64_t>(items, size()));
  std::atomic<std::int64_t> next{lanes};  // after the first, which every lane has of its own
  const Team leaders{seats_.data(), 1, lanes};
  leaders.run(lanes, [&](std::int64_t lane, Seat& seat) {
    const Team team{&seat, lanes, (size() - 1 - int(lane)) / lanes + 1};
    const Inside inside(team);
    try {
      for (std::int64_t item = lane; item < items; item = next.fetch_add(1)) {
        ++seat.done;
        fn(item, int(lane));
      }
    } catch (...) {
      next = items;
      throw;
    }
  });
}

std::vector<std::int64_t> WorkerPool::work_done() const {
  std::vector<std::int64_t> done;
  for (const Seat& seat : seats_) done.push_back(seat.done);
  return done;
}

}  // namespace sfnn
