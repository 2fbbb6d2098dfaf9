// A data set that does not fit on the device streams through two buffers, and nothing of the result
// shows it. The simulator can make a device small, run a stream's work late or early, and count.
#include "cuda/row_feed.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "cuda/thrust_ops.hpp"
#include "host/train/evaluate.hpp"
#include "host/train/trainer.hpp"
#include "tests/gpusim/gpusim.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/random.hpp"

namespace sfnn {
namespace {

using gpusim::StreamOrder;

constexpr std::int64_t kInputs = 512, kBatch = 8;
constexpr int kSteps = 28;  // beyond the first epoch's 26, the last of which has one example

const NetworkSpec& spec() {
  static const NetworkSpec spec = network(kInputs, {"4s", "3s"}, 5, Output::bernoulli);
  return spec;
}

// 105 kB of grey pixels and real targets; all that a step needs besides is half as much.
DataSet wide_data() {
  const std::int64_t count = 25 * kBatch + 1;
  Random random(3);
  std::vector<std::uint8_t> x(count * kInputs);
  for (auto& byte : x) byte = std::uint8_t(random.integer(0, 255));
  std::vector<float> y(count * 5);
  for (float& value : y) value = float(random.uniform());
  DataSet data{.D_in = kInputs, .D_out = 5, .output = Output::bernoulli};
  data.train = {.count = count, .x = {x, kInputs, 1 / 255.0f}, .y = {y, 5}};
  data.binarize_train = true;  // drawn by the example's own number, wherever it lies
  return data;
}

class RowFeedTest : public testing::Test {
 protected:
  ~RowFeedTest() override {
    gpusim::set_stream_order(StreamOrder::kAtOnce);
    gpusim::set_device_memory(kWholeDevice);
  }
  static void leave_free(const Backend& backend, std::size_t bytes) {
    gpusim::set_device_memory(kWholeDevice);
    gpusim::set_device_memory(kWholeDevice - backend.free_memory() + bytes);
  }
  static constexpr std::size_t kWholeDevice = std::size_t(1) << 33;
  static constexpr std::size_t kTooSmall = 190000;

  const DataSet data_ = wide_data();
  const TrainOptions options_{.particles = 2, .batch = kBatch, .epochs = 2, .drop_below = 0.0};
};

TEST_F(RowFeedTest, AStreamedRunIsAResidentOneBitForBit) {
  for (const bool graph : {false, true}) {
    const auto backend = make_test_backend("cuda_fp32", graph);
    const auto train = [&] {
      Trainer trainer(*backend, spec(), options_, data_);
      for (int step = 0; step < kSteps; ++step) trainer.train_step();
      return trainer.state();
    };
    gpusim::clear_calls();
    const TrainState resident = train();
    EXPECT_TRUE(gpusim::calls().uploads.empty());
    leave_free(*backend, kTooSmall);
    for (const StreamOrder order :
         {StreamOrder::kAtOnce, StreamOrder::kLate, StreamOrder::kOthersFirst}) {
      SCOPED_TRACE(testing::Message() << "graph " << graph << ", order " << int(order));
      gpusim::set_stream_order(order);
      gpusim::clear_calls();
      const TrainState streamed = train();
      EXPECT_GT(gpusim::calls().uploads.size(), 25u);
      EXPECT_EQ(streamed.P().array("params"), resident.P().array("params"));
      EXPECT_EQ(streamed.P().arrays, resident.P().arrays);
      EXPECT_EQ(streamed.c_hat_sum, resident.c_hat_sum);
    }
    gpusim::set_stream_order(StreamOrder::kAtOnce);
    gpusim::set_device_memory(kWholeDevice);
  }
}

// Step k finds its rows in slot k % 2 while those of step k + 1 go to the other.
TEST_F(RowFeedTest, CopiesGoToTwoBuffersInTurn) {
  const auto backend = make_test_backend("cuda_fp32", true);
  leave_free(*backend, kTooSmall);
  Trainer trainer(*backend, spec(), options_, data_);
  gpusim::clear_calls();
  for (std::size_t step = 0; step < 10; ++step) {
    trainer.train_step();
    EXPECT_EQ(gpusim::calls().uploads.size(), step + 2) << "one window ahead";
  }
  const auto& uploads = gpusim::calls().uploads;
  std::set<std::uint64_t> places;
  for (std::size_t k = 0; k < uploads.size(); ++k) {
    places.insert(uploads[k].to);
    EXPECT_EQ(uploads[k].to, uploads[k % 2].to);
    EXPECT_GE(uploads[k].bytes, std::size_t(kBatch * kInputs));
  }
  EXPECT_EQ(places.size(), 2u);
}

// The step itself never waits, streamed or not; with compaction, for the number of rows left.
TEST_F(RowFeedTest, AStepNeitherWaitsNorAllocates) {
  for (const bool streamed : {false, true}) {
    for (const bool graph : {false, true}) {
      for (const double drop_below : {0.0, 1e-6}) {
        SCOPED_TRACE(testing::Message() << streamed << graph << drop_below);
        const auto backend = make_test_backend("cuda_fp32", graph);
        if (streamed) leave_free(*backend, kTooSmall);
        TrainOptions options = options_;
        options.drop_below = drop_below;
        Trainer trainer(*backend, spec(), options, data_);
        for (int step = 0; step < 5; ++step) trainer.train_step();
        gpusim::clear_calls();
        for (int step = 0; step < 10; ++step) trainer.train_step();
        EXPECT_EQ(gpusim::calls().waits, !graph && drop_below > 0 ? 10 : 0);
        EXPECT_EQ(gpusim::calls().allocations, 0);
        backend->synchronize();
        gpusim::set_device_memory(kWholeDevice);
      }
    }
  }
}

TEST_F(RowFeedTest, ResumingInTheMiddleOfAnEpochFindsItsRows) {
  const auto backend = make_test_backend("cuda_fp32", true);
  leave_free(*backend, kTooSmall);
  TrainState half, whole;
  {
    Trainer trainer(*backend, spec(), options_, data_);
    for (int step = 0; step < 9; ++step) trainer.train_step();
    half = trainer.state();
    for (int step = 9; step < 14; ++step) trainer.train_step();
    whole = trainer.state();
  }
  Trainer resumed(*backend, spec(), options_, data_);
  resumed.restore(half);
  while (resumed.step() < 14) resumed.train_step();
  EXPECT_EQ(resumed.state().P().array("params"), whole.P().array("params"));
}

// The order comes from the reader's stream, and may not be complete yet when the feed gets it.
TEST_F(RowFeedTest, TheOrderIsReadOnceItIsMade) {
  constexpr std::int32_t kOrder[] = {2, 0, 3, 1};
  const std::vector<std::uint8_t> x = {10, 11, 12, 13};
  const Stream reader = make_stream();
  const DeviceMemory order = make_device_memory(sizeof kOrder);
  const PinnedMemory made = make_pinned_memory(sizeof kOrder);
  std::memcpy(made.get(), kOrder, sizeof kOrder);
  SFNN_CUDA_CHECK(cudaMemsetAsync(order.get(), 0, sizeof kOrder, reader.get()));
  SFNN_CUDA_CHECK(cudaStreamSynchronize(reader.get()));

  gpusim::set_stream_order(StreamOrder::kOthersFirst);
  SFNN_CUDA_CHECK(cudaMemcpyAsync(order.get(), made.get(), sizeof kOrder, cudaMemcpyHostToDevice,
                                  reader.get()));
  CudaRowFeed feed({.x = std::as_bytes(std::span(x)), .count = 4}, /*height=*/4, reader.get());
  feed.reorder(reinterpret_cast<const std::int32_t*>(order.get()));
  std::vector<std::uint8_t> seen(4);
  SFNN_CUDA_CHECK(
      cudaMemcpyAsync(seen.data(), feed.open(0).x, 4, cudaMemcpyDeviceToHost, reader.get()));
  feed.close({});
  SFNN_CUDA_CHECK(cudaStreamSynchronize(reader.get()));
  EXPECT_EQ(seen, (std::vector<std::uint8_t>{12, 10, 13, 11}));
}

// Thrust itself runs on the host here; the memory that it is given on a device does not.
TEST_F(RowFeedTest, ThrustsTemporariesAreKeptForTheNextCall) {
  TemporaryPool pool;
  std::byte *small = pool.take(100), *large = pool.take(std::size_t(3) << 20);
  EXPECT_NE(small, large);
  pool.give_back(small);
  pool.give_back(large);
  gpusim::clear_calls();
  EXPECT_EQ(pool.take(std::size_t(2) << 20), large);
  EXPECT_EQ(pool.take(200), small);
  EXPECT_EQ(gpusim::calls().allocations, 0);
}

TEST_F(RowFeedTest, AStreamedEvaluationIsAResidentOne) {
  const auto backend = make_test_backend("cuda_fp32");
  const auto host = initial_params(spec(), 3, 2.0);
  const Model model(*backend, spec(), host);
  const auto run = [&] { return evaluate(model, data_.train, {.particles = 3}).curve; };
  const auto samples = [&] {
    const std::int32_t rows[] = {7, 3, 200};
    return sample_outputs(model, data_.train, rows, 2, 1).means;
  };
  const auto curve = run();
  const auto drawn = samples();
  leave_free(*backend, kTooSmall);
  gpusim::set_stream_order(StreamOrder::kOthersFirst);
  gpusim::clear_calls();
  const auto streamed = run();
  EXPECT_GT(gpusim::calls().uploads.size(), 1u);
  for (std::size_t k = 0; k < curve.size(); ++k) EXPECT_NEAR(streamed[k], curve[k], 1e-9);
  EXPECT_EQ(samples(), drawn);
}

}  // namespace
}  // namespace sfnn
