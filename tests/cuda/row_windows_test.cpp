// The windows of a data set that streams, in the simulator and on a device alike: each holds its
// rows, although nothing waits between the first window and the last.
#include <gtest/gtest.h>

#include <numeric>

#include "cuda/row_feed.hpp"
#include "tests/support/random.hpp"

namespace sfnn {
namespace {

constexpr std::int64_t kCount = 1003, kHeight = 64, kInputs = 97, kTargets = 5;
constexpr std::int64_t kWindows = (kCount + kHeight - 1) / kHeight;

class RowWindows : public testing::Test {
 protected:
  RowWindows() {
    Random random(5);
    for (auto& byte : x_) byte = std::uint8_t(random.integer(0, 255));
    for (auto& value : y_) value = float(random.normal());
  }

  HostRows rows() const {
    return {std::as_bytes(std::span(x_)), std::as_bytes(std::span(y_)), kCount};
  }

  // Copies every window's rows one after another, on the reader's stream, and waits once.
  void read(CudaRowFeed& feed, std::vector<std::uint8_t>& x, std::vector<float>& y) const {
    const DeviceMemory d_x = make_device_memory(x_.size()),
                       d_y = make_device_memory(y_.size() * sizeof(float));
    for (std::int64_t w = 0; w < kWindows; ++w) {
      const std::int64_t first = w * kHeight, count = std::min(kHeight, kCount - first);
      const RowFeed::Window window = feed.open(w);
      copy(d_x.get() + first * kInputs, window.x, count * kInputs, cudaMemcpyDeviceToDevice);
      copy(d_y.get() + first * kTargets * sizeof(float), window.y, count * kTargets * sizeof(float),
           cudaMemcpyDeviceToDevice);
      feed.close(window);
    }
    x.resize(x_.size());
    y.resize(y_.size());
    copy(x.data(), d_x.get(), x_.size(), cudaMemcpyDeviceToHost);
    copy(y.data(), d_y.get(), y_.size() * sizeof(float), cudaMemcpyDeviceToHost);
    SFNN_CUDA_CHECK(cudaStreamSynchronize(reader_.get()));
  }

  void expect_rows(CudaRowFeed& feed, const std::vector<std::int32_t>& order) const {
    std::vector<std::uint8_t> x;
    std::vector<float> y;
    read(feed, x, y);
    for (std::int64_t n = 0; n < kCount; ++n) {
      const auto same = [&](const auto& actual, const auto& expected, std::int64_t cols) {
        return std::equal(&actual[n * cols], &actual[n * cols] + cols, &expected[order[n] * cols]);
      };
      ASSERT_TRUE(same(x, x_, kInputs)) << "x of row " << n;
      ASSERT_TRUE(same(y, y_, kTargets)) << "y of row " << n;
    }
  }

  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) const {
    SFNN_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, kind, reader_.get()));
  }

  std::vector<std::uint8_t> x_ = std::vector<std::uint8_t>(kCount * kInputs);
  std::vector<float> y_ = std::vector<float>(kCount * kTargets);
  const Stream reader_ = make_stream();
};

TEST_F(RowWindows, HoldTheRowsAsStoredAndInEveryNewOrder) {
  CudaRowFeed feed(rows(), kHeight, reader_.get());
  std::vector<std::int32_t> order(kCount);
  std::iota(order.begin(), order.end(), 0);
  expect_rows(feed, order);
  const DeviceMemory d_order = make_device_memory(kCount * sizeof(std::int32_t));
  Random random(6);
  for (int epoch = 0; epoch < 3; ++epoch) {
    SCOPED_TRACE(testing::Message() << "epoch " << epoch);
    for (std::int64_t n = kCount - 1; n > 0; --n)
      std::swap(order[n], order[random.integer(0, int(n))]);
    copy(d_order.get(), order.data(), kCount * sizeof(std::int32_t), cudaMemcpyHostToDevice);
    feed.reorder(reinterpret_cast<const std::int32_t*>(d_order.get()));
    expect_rows(feed, order);
  }
}

// Left in the middle, as a run that ends there leaves it: the copies under way find their memory.
TEST_F(RowWindows, MayBeLeftInTheMiddle) {
  for (int k = 0; k < 3; ++k) {
    CudaRowFeed feed(rows(), kHeight, reader_.get());
    feed.open(k);
    feed.close({});
  }
  SFNN_CUDA_CHECK(cudaStreamSynchronize(reader_.get()));
}

}  // namespace
}  // namespace sfnn
