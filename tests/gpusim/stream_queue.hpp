// Work that waits for its turn. A stream of a device runs when it likes, within what events and
// waits allow; here a test chooses (set_stream_order) between the schedules that are worst for a
// program that has forgotten a wait.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

namespace sfnn::gpusim {

// How often an event has been recorded: asked for, and come to pass.
struct EventMarks {
  std::uint64_t recorded = 0, reached = 0;
};

class StreamQueue {
 public:
  StreamQueue();
  ~StreamQueue();
  StreamQueue(const StreamQueue&) = delete;
  StreamQueue& operator=(const StreamQueue&) = delete;

  void push(std::function<void()> work);
  void push_record(const std::shared_ptr<EventMarks>&);
  void push_wait(const std::shared_ptr<EventMarks>&);  // for its last record so far

  void drain();  // runs all of it, and what it waits for on other streams
  static void drain_all();
  static void reach(const EventMarks&);  // runs what must be run for the last record to be reached

 private:
  struct Entry {
    std::function<void()> work;  // or one of these:
    std::shared_ptr<EventMarks> records, waits_for;
    std::uint64_t count = 0;  // of the event's records
  };

  bool can_run() const;
  void run_one();
  void run_past(const EventMarks&, std::uint64_t count);
  bool records(const EventMarks&, std::uint64_t count) const;
  static void reach(const EventMarks&, std::uint64_t count);
  void let_others_run() const;
  void add(Entry);

  std::deque<Entry> entries_;
};

}  // namespace sfnn::gpusim
