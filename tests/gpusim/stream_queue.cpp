#include "tests/gpusim/stream_queue.hpp"

#include <algorithm>
#include <vector>

#include "tests/gpusim/simulator.hpp"

namespace sfnn::gpusim {
namespace {

std::vector<StreamQueue*>& queues() {
  static auto& all = *new std::vector<StreamQueue*>;
  return all;
}

}  // namespace

StreamQueue::StreamQueue() { queues().push_back(this); }
StreamQueue::~StreamQueue() { std::erase(queues(), this); }

void StreamQueue::add(Entry entry) {
  entries_.push_back(std::move(entry));
  if (Simulator::get().stream_order == StreamOrder::kAtOnce) drain();
}

void StreamQueue::push(std::function<void()> work) { add({.work = std::move(work)}); }

void StreamQueue::push_record(const std::shared_ptr<EventMarks>& event) {
  add({.records = event, .count = ++event->recorded});
}

void StreamQueue::push_wait(const std::shared_ptr<EventMarks>& event) {
  add({.waits_for = event, .count = event->recorded});
}

bool StreamQueue::can_run() const {
  if (entries_.empty()) return false;
  const Entry& next = entries_.front();
  return !next.waits_for || next.waits_for->reached >= next.count;
}

void StreamQueue::run_one() {
  const Entry entry = std::move(entries_.front());
  entries_.pop_front();
  if (entry.records) entry.records->reached = std::max(entry.records->reached, entry.count);
  if (entry.work) Simulator::get().guarded(entry.work);
}

bool StreamQueue::records(const EventMarks& event, std::uint64_t count) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.records.get() == &event && entry.count >= count;
  });
}

void StreamQueue::reach(const EventMarks& event, std::uint64_t count) {
  if (event.reached >= count) return;
  for (StreamQueue* queue : queues())
    if (queue->records(event, count)) return queue->run_past(event, count);
}

void StreamQueue::reach(const EventMarks& event) { reach(event, event.recorded); }

void StreamQueue::run_past(const EventMarks& event, std::uint64_t count) {
  while (event.reached < count) {
    if (!can_run()) reach(*entries_.front().waits_for, entries_.front().count);
    run_one();
  }
}

void StreamQueue::let_others_run() const {
  for (bool any = true; any;) {
    any = false;
    for (StreamQueue* queue : queues())
      for (; queue != this && queue->can_run(); any = true) queue->run_one();
  }
}

void StreamQueue::drain() {
  while (!entries_.empty()) {
    if (Simulator::get().stream_order == StreamOrder::kOthersFirst) let_others_run();
    if (!can_run()) reach(*entries_.front().waits_for, entries_.front().count);
    run_one();
  }
}

void StreamQueue::drain_all() {
  for (StreamQueue* queue : std::vector(queues())) queue->drain();
}

}  // namespace sfnn::gpusim
