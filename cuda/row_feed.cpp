#include "cuda/row_feed.hpp"

#include <algorithm>
#include <cstring>

namespace sfnn {
namespace {

constexpr std::size_t kAlignment = 256;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::size_t slot_bytes(const HostRows& rows, std::int64_t height) {
  return aligned(std::size_t(height) * rows.x_row()) + std::size_t(height) * rows.y_row();
}

}  // namespace

std::size_t CudaRowFeed::device_bytes(const HostRows& rows, std::int64_t height) {
  return 2 * slot_bytes(rows, height);
}

CudaRowFeed::CudaRowFeed(const HostRows& rows, std::int64_t height, cudaStream_t reader)
    : rows_(rows),
      height_(height),
      y_offset_(aligned(std::size_t(height) * rows.x_row())),
      reader_(reader),
      copies_(make_stream()) {
  for (std::int64_t w = 0; w * height < rows.count; ++w) packings_.push_back({this, w});
  slots_.reserve(2);
  for (int slot = 0; slot < 2; ++slot) slots_.emplace_back(slot_bytes(rows, height));
}

CudaRowFeed::~CudaRowFeed() { static_cast<void>(cudaStreamSynchronize(copies_.get())); }

// The order is made on the device, after the last window of the previous order.
void CudaRowFeed::reorder(const std::int32_t* order) {
  const std::size_t bytes = std::size_t(rows_.count) * sizeof(std::int32_t);
  if (!order_) order_ = make_pinned_memory(bytes);
  SFNN_CUDA_CHECK(cudaEventRecord(ordered_.get(), reader_));
  SFNN_CUDA_CHECK(cudaStreamWaitEvent(copies_.get(), ordered_.get(), 0));
  SFNN_CUDA_CHECK(
      cudaMemcpyAsync(order_.get(), order, bytes, cudaMemcpyDeviceToHost, copies_.get()));
  fetched_ = -1;
}

RowFeed::Window CudaRowFeed::open(std::int64_t window) {
  throw_failure();
  Slot& slot = slots_[window % 2];
  if (fetched_ != window) fetch(window);
  SFNN_CUDA_CHECK(cudaStreamWaitEvent(reader_, slot.copied.get(), 0));
  if (window + 1 < std::int64_t(packings_.size())) fetch(window + 1);
  open_ = window;
  return {slot.device.get(), y_of(slot.device.get())};
}

void CudaRowFeed::close(const Window&) {
  SFNN_CUDA_CHECK(cudaEventRecord(slots_[open_ % 2].read.get(), reader_));
}

std::int64_t CudaRowFeed::rows_of(std::int64_t window) const {
  return std::min(height_, rows_.count - window * height_);
}

void CudaRowFeed::fetch(std::int64_t window) {
  Slot& slot = slots_[window % 2];
  const auto on_host = [](void* data) {
    const auto* packing = static_cast<const Packing*>(data);
    packing->feed->try_to_pack(packing->window);
  };
  const std::size_t bytes = y_offset_ + std::size_t(rows_of(window)) * rows_.y_row();
  SFNN_CUDA_CHECK(cudaLaunchHostFunc(copies_.get(), on_host, &packings_[window]));
  SFNN_CUDA_CHECK(cudaStreamWaitEvent(copies_.get(), slot.read.get(), 0));
  SFNN_CUDA_CHECK(cudaMemcpyAsync(slot.device.get(), slot.packed.get(), bytes,
                                  cudaMemcpyHostToDevice, copies_.get()));
  SFNN_CUDA_CHECK(cudaEventRecord(slot.copied.get(), copies_.get()));
  fetched_ = window;
}

// An exception must not pass through the runtime: the next call of ours throws it.
void CudaRowFeed::try_to_pack(std::int64_t window) {
  try {
    pack(window);
  } catch (...) {
    const std::scoped_lock lock(failure_mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
}

void CudaRowFeed::throw_failure() {
  const std::scoped_lock lock(failure_mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

// Runs on a thread of the CUDA runtime, in the order of the copies: the slot's previous copy is
// complete.
void CudaRowFeed::pack(std::int64_t window) const {
  const auto* order = reinterpret_cast<const std::int32_t*>(order_.get());
  const std::size_t x_row = rows_.x_row(), y_row = rows_.y_row();
  std::byte *x = slots_[window % 2].packed.get(), *y = y_of(x);
  if (rows_.reader) {
    rows_.reader->read(order, window * height_, rows_of(window), x, y);
    return;
  }
  for (std::int64_t n = 0; n < rows_of(window); ++n, x += x_row, y += y_row) {
    const std::int64_t position = window * height_ + n;
    const auto row = std::size_t(order ? order[position] : position);
    if (x_row) std::memcpy(x, rows_.x.data() + row * x_row, x_row);
    if (y_row) std::memcpy(y, rows_.y.data() + row * y_row, y_row);
  }
}

}  // namespace sfnn
