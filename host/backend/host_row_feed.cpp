#include "host/backend/host_row_feed.hpp"

#include <algorithm>

namespace sfnn {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kMostOpen = 1024;  // more threads than any machine has

std::size_t x_bytes(const HostRows& rows, std::int64_t height) {
  return (std::size_t(height) * rows.x_row() + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

std::size_t HostRowFeed::window_bytes(const HostRows& rows, std::int64_t height) {
  return x_bytes(rows, height) + std::size_t(height) * rows.y_row();
}

// A step opens one window at a time: that one is there beforehand, and room to note it.
HostRowFeed::HostRowFeed(const HostRows& rows, std::int64_t height)
    : rows_(rows), height_(height), y_offset_(x_bytes(rows, height)) {
  free_.reserve(kMostOpen);
  open_.reserve(kMostOpen);
  free_.emplace_back(window_bytes(rows, height));
}

HostRowFeed::Slot HostRowFeed::take_slot() {
  const std::scoped_lock lock(mutex_);
  if (free_.empty()) return Slot(window_bytes(rows_, height_));
  Slot slot = std::move(free_.back());
  free_.pop_back();
  return slot;
}

std::int64_t HostRowFeed::rows_of(std::int64_t window) const {
  return std::min(height_, rows_.count - window * height_);
}

RowFeed::Window HostRowFeed::open(std::int64_t window) {
  Slot slot = take_slot();
  rows_.reader->read(order_, window * height_, rows_of(window), slot.data(), y_of(slot));
  const std::int64_t next = window + 1;
  if (next * height_ < rows_.count) rows_.reader->will_read(order_, next * height_, rows_of(next));
  const Window opened{slot.data(), y_of(slot)};
  const std::scoped_lock lock(mutex_);
  open_.push_back(std::move(slot));
  return opened;
}

void HostRowFeed::close(const Window& window) {
  const std::scoped_lock lock(mutex_);
  const auto found =
      std::ranges::find_if(open_, [&](const Slot& slot) { return slot.data() == window.x; });
  if (found == open_.end()) return;
  free_.push_back(std::move(*found));
  open_.erase(found);
}

}  // namespace sfnn
