// Streams that run late or early: a forgotten wait shows, and a wait that is there helps.
#include "tests/gpusim/device_array.hpp"
#include "tests/gpusim/gpusim.hpp"

namespace sfnn::gpusim {
namespace {

using probes::DeviceArray;

class Streams : public testing::Test {
 protected:
  void SetUp() override {
    SFNN_ASSERT_CUDA(cudaMallocHost(reinterpret_cast<void**>(&pinned_), 2 * sizeof(float)));
    SFNN_ASSERT_CUDA(cudaStreamCreateWithFlags(&reader_, cudaStreamNonBlocking));
    SFNN_ASSERT_CUDA(cudaStreamCreateWithFlags(&writer_, cudaStreamNonBlocking));
    SFNN_ASSERT_CUDA(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
    pinned_[0] = 1;
  }
  void TearDown() override {
    set_stream_order(StreamOrder::kAtOnce);
    SFNN_ASSERT_CUDA(cudaEventDestroy(event_));
    SFNN_ASSERT_CUDA(cudaStreamDestroy(writer_));
    SFNN_ASSERT_CUDA(cudaStreamDestroy(reader_));
    SFNN_ASSERT_CUDA(cudaFreeHost(pinned_));
  }
  void write(float value) {  // by the writer, when its turn comes
    pinned_[0] = value;
    EXPECT_EQ(cudaMemcpyAsync(d_.data(), pinned_, 4, cudaMemcpyHostToDevice, writer_), cudaSuccess);
  }
  float read() {
    EXPECT_EQ(cudaMemcpyAsync(pinned_ + 1, d_.data(), 4, cudaMemcpyDeviceToHost, reader_),
              cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(reader_), cudaSuccess);
    return pinned_[1];
  }
  void order(cudaStream_t first, cudaStream_t second) {
    EXPECT_EQ(cudaEventRecord(event_, first), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(second, event_, 0), cudaSuccess);
  }

  DeviceArray<float> d_{std::vector<float>{-1}};
  float* pinned_ = nullptr;  // written, read
  cudaStream_t reader_ = nullptr, writer_ = nullptr;
  cudaEvent_t event_ = nullptr;
};

TEST_F(Streams, LateWorkIsMissedByAReaderThatDoesNotWait) {
  set_stream_order(StreamOrder::kLate);
  write(5);
  EXPECT_EQ(read(), -1);
  EXPECT_EQ(cudaStreamSynchronize(writer_), cudaSuccess);
  EXPECT_EQ(read(), 5);
  write(6);
  order(writer_, reader_);
  EXPECT_EQ(read(), 6);
}

TEST_F(Streams, EarlyWorkOverwritesWhatWasStillToBeRead) {
  set_stream_order(StreamOrder::kOthersFirst);
  EXPECT_EQ(cudaMemcpyAsync(pinned_ + 1, d_.data(), 4, cudaMemcpyDeviceToHost, reader_),
            cudaSuccess);
  write(5);
  EXPECT_EQ(cudaStreamSynchronize(reader_), cudaSuccess);
  EXPECT_EQ(pinned_[1], 5) << "the writer did not wait";
  EXPECT_EQ(cudaMemcpyAsync(pinned_ + 1, d_.data(), 4, cudaMemcpyDeviceToHost, reader_),
            cudaSuccess);
  order(reader_, writer_);
  write(6);
  EXPECT_EQ(cudaStreamSynchronize(reader_), cudaSuccess);
  EXPECT_EQ(pinned_[1], 5);
  EXPECT_EQ(read(), 6);
}

// Copies that read pageable memory are done when the call returns: the source may be gone.
TEST_F(Streams, PageableMemoryIsReadAtOnce) {
  set_stream_order(StreamOrder::kLate);
  float value = 7;
  SFNN_ASSERT_CUDA(cudaMemcpyAsync(d_.data(), &value, 4, cudaMemcpyHostToDevice, writer_));
  value = 8;
  EXPECT_EQ(read(), 7);
}

TEST_F(Streams, ACaptureMayNotWaitForWhatIsOutsideOfIt) {
  EXPECT_EQ(cudaEventRecord(event_, writer_), cudaSuccess);
  SFNN_ASSERT_CUDA(cudaStreamBeginCapture(reader_, cudaStreamCaptureModeThreadLocal));
  EXPECT_EQ(cudaStreamWaitEvent(reader_, event_, 0), cudaErrorStreamCaptureIsolation);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(reader_, &graph), cudaErrorStreamCaptureInvalidated);
  cudaGetLastError();
}

TEST_F(Streams, WaitsAndAllocationsAreCounted) {
  clear_calls();
  EXPECT_EQ(cudaStreamWaitEvent(reader_, event_, 0), cudaSuccess);
  write(1);
  EXPECT_EQ(calls().waits, 0);
  EXPECT_EQ(calls().allocations, 0);
  ASSERT_EQ(calls().uploads.size(), 1u);
  EXPECT_EQ(calls().uploads[0].to, std::uint64_t(d_.data()));
  read();
  EXPECT_EQ(calls().waits, 1);
  { const DeviceArray<float> other(1); }
  EXPECT_EQ(calls().allocations, 2);
}

}  // namespace
}  // namespace sfnn::gpusim
