// Threads that share one piece of work. Whoever calls an op inside of an item of WorkerPool::run
// leads a team; the op cuts its loop into blocks, and the team's members do them.
//
// Which member does a block is fixed: block b belongs to member b % size. How a loop is cut may
// depend on shapes alone if the cut decides the order of a sum.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <utility>

#include "host/base/function_ref.hpp"

namespace sfnn {

class Seat;

using SeatBlock = FunctionRef<void(std::int64_t block, Seat&)>;

// One thread's place: it waits here for its share of a call. A cache line of its own.
class alignas(64) Seat {
 public:
  struct Call {
    SeatBlock fn;
    std::int64_t blocks, members;
  };

  // By the leader: the call must live until `finish` has returned.
  void begin(const Call&, int member);
  void finish();  // waits

  // By the thread itself: takes calls until `dismiss`.
  void serve();
  void dismiss();

  // Blocks member, member + members, ...; an exception ends them and is kept.
  void work(const Call&, int member);
  std::exception_ptr take_error() { return std::exchange(error_, nullptr); }

  std::int64_t done = 0;  // items and blocks; written by the thread itself

 private:
  enum State : std::uint32_t { idle, called, dismissed };

  std::atomic<std::uint32_t> state_{idle};
  int member_ = 0;
  const Call* call_ = nullptr;
  std::exception_ptr error_;
};

// Every `stride`th of some seats, `size` in all. Their leader has the first.
struct Team {
  Seat* leader;
  int stride, size;

  Seat& seat(int member) const { return leader[std::int64_t(member) * stride]; }
  // Calls fn for each block and waits for all; the first exception by member is rethrown.
  void run(std::int64_t blocks, SeatBlock fn) const;
};

// The calling thread is inside of an item or of a shared block, with this team, for as long as this
// lives.
class Inside {
 public:
  explicit Inside(const Team&);
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  const Team* before_;
};
bool is_inside();

// fn(block) for block = 0 .. blocks-1 by the calling thread's team; a plain loop if it has
// none, or inside of another block.
void share(std::int64_t blocks, FunctionRef<void(std::int64_t block)> fn);

// fn(first, count) on ranges of 0 .. size-1 that take about kShareWork steps each if an element
// takes `work`. Ranges begin at multiples of `unit`. For loops whose results do not depend on the
// cut: a thread that works alone takes everything at once.
constexpr std::int64_t kShareWork = 8192;
void share_range(std::int64_t size, std::int64_t work, std::int64_t unit,
                 FunctionRef<void(std::int64_t first, std::int64_t count)> fn);

}  // namespace sfnn
