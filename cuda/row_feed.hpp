// A data set that streams to the device through page-locked double buffers.
//
// On a stream of its own a window is packed by the host into page-locked memory, copied to the
// device, and marked as there; the reader's stream waits for the mark, and marks in turn when it
// has read the window. All of it is in the order of the two streams: the calling thread never
// waits.
#pragma once

#include <exception>
#include <mutex>
#include <vector>

#include "cuda/device_buffer.hpp"
#include "cuda/handles.hpp"
#include "host/backend/backend.hpp"

namespace sfnn {

class CudaRowFeed final : public RowFeed {
 public:
  // reader: the stream whose ops read the windows. The rows must outlive the feed.
  CudaRowFeed(const HostRows&, std::int64_t height, cudaStream_t reader);
  ~CudaRowFeed() override;  // waits for pending copies

  void reorder(const std::int32_t* order) override;
  Window open(std::int64_t window) override;
  void close(const Window&) override;

  static std::size_t device_bytes(const HostRows&, std::int64_t height);

 private:
  struct Slot {
    Slot(std::size_t bytes)
        : packed(make_pinned_memory(bytes)),
          device(make_device_memory(bytes)),
          copied(make_mark()),
          read(make_mark()) {}
    PinnedMemory packed;
    DeviceMemory device;
    Event copied, read;
  };
  // Arguments for the runtime's thread; one per window, as any number of them may be pending.
  struct Packing {
    CudaRowFeed* feed;
    std::int64_t window;
  };

  std::int64_t rows_of(std::int64_t window) const;
  std::byte* y_of(std::byte* slot) const { return slot + y_offset_; }
  void fetch(std::int64_t window);
  void pack(std::int64_t window) const;
  void try_to_pack(std::int64_t window);
  void throw_failure();

  HostRows rows_;
  std::int64_t height_;
  std::size_t y_offset_;
  cudaStream_t reader_;
  Stream copies_;
  Event ordered_ = make_mark();
  PinnedMemory order_;  // [count]; null: as stored
  std::vector<Packing> packings_;
  std::vector<Slot> slots_;
  std::int64_t fetched_ = -1;  // the last window that was requested
  std::int64_t open_ = -1;
  std::mutex failure_mutex_;
  std::exception_ptr failure_;  // of a window that could not be packed
};

}  // namespace sfnn
