// A data set that is read from a file, window by window, into memory that the ops read.
//
// The calling thread reads a window when it is opened, and tells the system which rows the next one
// has, so that a disk works while the step does. Several windows may be open at once: threads that
// evaluate open one each.
#pragma once

#include <mutex>
#include <vector>

#include "host/backend/backend.hpp"

namespace sfnn {

class HostRowFeed final : public RowFeed {
 public:
  // The rows must outlive it.
  HostRowFeed(const HostRows&, std::int64_t height);

  void reorder(const std::int32_t* order) override { order_ = order; }
  Window open(std::int64_t window) override;
  void close(const Window&) override;

  static std::size_t window_bytes(const HostRows&, std::int64_t height);

 private:
  using Slot = std::vector<std::byte>;

  std::byte* y_of(Slot& slot) const { return slot.data() + y_offset_; }
  Slot take_slot();  // a free one, or a new one
  std::int64_t rows_of(std::int64_t window) const;

  HostRows rows_;
  std::int64_t height_;
  std::size_t y_offset_;
  const std::int32_t* order_ = nullptr;  // [count]; null: as stored
  std::mutex mutex_;
  std::vector<Slot> free_, open_;
};

}  // namespace sfnn
