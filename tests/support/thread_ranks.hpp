// Ranks that are threads of this process: what one sends, the others copy.
#pragma once

#include <algorithm>
#include <barrier>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "host/ranks/ranks.hpp"

namespace sfnn {

class ThreadRanks final : public Ranks {
 public:
  struct Shared {
    explicit Shared(int ranks) : outgoing(std::size_t(ranks)), meeting(ranks) {}
    std::vector<std::span<const Outgoing>> outgoing;  // by rank
    std::barrier<> meeting;
  };
  ThreadRanks(Shared& shared, int rank) : shared_(shared), rank_(rank) {}

  int rank() const override { return rank_; }
  int count() const override { return int(shared_.outgoing.size()); }
  void exchange(std::span<const Outgoing> outgoing, std::span<const Incoming> incoming) override {
    shared_.outgoing[std::size_t(rank_)] = outgoing;
    shared_.meeting.arrive_and_wait();
    for (int q = 0; q < count(); ++q) {
      if (q == rank_) continue;
      const Outgoing from = shared_.outgoing[std::size_t(q)][std::size_t(rank_)];
      const Incoming to = incoming[std::size_t(q)];
      if (from.size() != to.size()) throw std::logic_error("sizes of a message differ");
      std::copy(from.begin(), from.end(), to.begin());
      sent_ += outgoing[std::size_t(q)].size();
    }
    shared_.meeting.arrive_and_wait();  // nobody reuses a buffer that another still reads
  }
  std::size_t bytes_sent() const { return sent_; }

 private:
  Shared& shared_;
  int rank_;
  std::size_t sent_ = 0;
};

// f(ranks) in a thread for each rank. f must not throw.
inline void on_ranks(int count, const std::function<void(ThreadRanks&)>& f) {
  ThreadRanks::Shared shared(count);
  std::vector<std::thread> threads;
  for (int r = 0; r < count; ++r)
    threads.emplace_back([&, r] {
      ThreadRanks ranks(shared, r);
      f(ranks);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace sfnn
