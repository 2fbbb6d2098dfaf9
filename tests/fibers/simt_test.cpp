// The fibers themselves: indices, barriers, shuffles; and kernels with a mistake in them, each of
// which must be reported.
#include "tests/fibers/simt.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

namespace sfnn {
namespace {

using simt::Fault;
using simt::launch;
using simt::Order;
using Ints = std::vector<int>;

constexpr unsigned kAllLanes = ~0u;

TEST(Simt, EveryThreadRunsOnce) {
  for (const Order order : {Order::ascending, Order::descending}) {
    Ints visits(2 * 3 * 4 * 2 * 3);
    launch({2, 3, 1}, {4, 2, 3}, order, [&] {
      const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
      const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
      ++visits[block * 24 + thread];
    });
    EXPECT_EQ(visits, Ints(visits.size(), 1));
  }
}

__global__ void reverse_kernel(const int* in, int* out) {
  __shared__ int values[96];
  values[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = values[95 - threadIdx.x];
}

TEST(Simt, ABarrierLetsThreadsSeeEachOther) {
  Ints in(96), expected(96);
  std::iota(in.begin(), in.end(), 0);
  std::iota(expected.rbegin(), expected.rend(), 0);
  for (const Order order : {Order::ascending, Order::descending}) {
    Ints out(96);
    launch(1, 96, order, [&] { reverse_kernel(in.data(), out.data()); });
    EXPECT_EQ(out, expected);
  }
}

TEST(Simt, ShufflesStayInTheirWarp) {
  Ints out(64);
  launch(1, 64, Order::descending, [&] {
    int sum = int(threadIdx.x);
    for (int distance = 16; distance > 0; distance /= 2)
      sum += __shfl_xor_sync(kAllLanes, sum, distance);
    out[threadIdx.x] = sum;
  });
  for (int t = 0; t < 64; ++t) EXPECT_EQ(out[t], t < 32 ? 496 : 1520);
}

std::string fault_of(unsigned threads, const std::function<void()>& kernel) {
  try {
    launch(1, threads, Order::ascending, kernel);
  } catch (const Fault& fault) {
    return fault.what();
  }
  return "no fault";
}

TEST(Simt, ReportsABarrierAfterAReturn) {
  EXPECT_EQ(fault_of(64,
                     [] {
                       if (threadIdx.x >= 50) return;
                       __syncthreads();
                     })
                .find("block (0, 0, 0) is stuck: 14 of 64 threads have returned, 50 wait in "),
            0u);
}

TEST(Simt, ReportsThreadsAtTwoBarriers) {
  const std::string fault = fault_of(64, [] {
    if (threadIdx.x < 40) {
      __syncthreads();
    } else {
      __syncthreads();
    }
  });
  EXPECT_EQ(fault.find("thread 40 came to "), 0u) << fault;
}

TEST(Simt, ReportsAShuffleThatALaneMisses) {
  const std::string fault = fault_of(64, [] {
    if (threadIdx.x != 7) __shfl_xor_sync(kAllLanes, 1, 1);
  });
  EXPECT_NE(fault.find("33 of 64 threads have returned, 31 wait in "), std::string::npos) << fault;
  EXPECT_NE(fault_of(40, [] { __shfl_xor_sync(kAllLanes, 1, 1); }).find("less than a whole warp"),
            std::string::npos);
}

TEST(Simt, ReportsADeadlockOfBarrierAndShuffle) {
  const std::string fault = fault_of(32, [] {
    if (threadIdx.x < 16) {
      __syncthreads();
    } else {
      __shfl_xor_sync(kAllLanes, 1, 1);
    }
  });
  EXPECT_NE(fault.find("0 of 32 threads have returned, 16 wait in "), std::string::npos) << fault;
}

TEST(Simt, AFaultUnwindsTheOtherThreads) {
  Ints destroyed(64);
  struct Flag {
    int& set;
    ~Flag() { set = 1; }
  };
  EXPECT_THROW(launch(1, 64, Order::ascending,
                      [&] {
                        const Flag flag{destroyed[threadIdx.x]};
                        if (threadIdx.x != 3) __syncthreads();
                      }),
               Fault);
  EXPECT_EQ(destroyed, Ints(64, 1));
}

TEST(Simt, RefusesLaunchesThatADeviceRefuses) {
  EXPECT_THROW(launch(0, 32, Order::ascending, [] {}), Fault);
  EXPECT_THROW(launch(1, 1025, Order::ascending, [] {}), Fault);
}

// --- mistakes that a sanitizer reports

__global__ void reverse_without_barrier_kernel(const int* in, int* out) {
  __shared__ int values[64];
  values[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = values[63 - threadIdx.x];
}

#ifdef __SANITIZE_THREAD__

// The sanitizer's own exit code after a report, whatever the program returns.
constexpr int kReported = 66;

void run_and_exit(dim3 grid, dim3 block, const std::function<void()>& kernel) {
  launch(grid, block, Order::ascending, kernel);
  std::exit(0);
}

class SimtDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(SimtDeathTest, AMissingBarrierIsARace) {
  Ints in(64, 1), out(64);
  EXPECT_EXIT(run_and_exit(1, 64, [&] { reverse_without_barrier_kernel(in.data(), out.data()); }),
              testing::ExitedWithCode(kReported), "data race.*reverse_without_barrier_kernel");
}

TEST_F(SimtDeathTest, ASumWithoutAnAtomicIsARaceBetweenBlocks) {
  int sum = 0;
  EXPECT_EXIT(run_and_exit(2, 1, [&] { sum += 1; }), testing::ExitedWithCode(kReported),
              "data race");
}

TEST_F(SimtDeathTest, AShuffleOrdersNoMemory) {
  Ints out(32);
  EXPECT_EXIT(run_and_exit(1, 32,
                           [&] {
                             out[threadIdx.x] = 1;
                             __shfl_xor_sync(kAllLanes, 1, 1);
                             out[threadIdx.x ^ 1] = 2;
                           }),
              testing::ExitedWithCode(kReported), "data race");
}

TEST_F(SimtDeathTest, BarriersAndTheEndOfALaunchOrderMemory) {
  Ints in(96, 1), out(96);
  EXPECT_EXIT(
      {
        launch(1, 96, Order::ascending, [&] { reverse_kernel(in.data(), out.data()); });
        run_and_exit(1, 96, [&] { reverse_kernel(out.data(), in.data()); });
      },
      testing::ExitedWithCode(0), "");
}

#else

TEST(Simt, AMissingBarrierShowsInTheOrderOfThreads) {
  Ints in(64);
  std::iota(in.begin(), in.end(), 1);
  Ints out[2] = {Ints(64), Ints(64)};
  for (const Order order : {Order::ascending, Order::descending})
    launch(1, 64, order,
           [&] { reverse_without_barrier_kernel(in.data(), out[int(order)].data()); });
  EXPECT_NE(out[0], out[1]);
}

#endif

#ifdef __SANITIZE_ADDRESS__

class SimtDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(SimtDeathTest, AWriteBehindTheEndOfGlobalMemory) {
  Ints out(100);
  EXPECT_DEATH(launch(1, 128, Order::ascending,
                      [&] {
                        if (threadIdx.x <= 100) out.data()[threadIdx.x] = 1;
                      }),
               "heap-buffer-overflow");
}

__global__ void write_behind_shared_kernel(int* out) {
  __shared__ int values[33];
  int* const behind = values + 1;
  behind[threadIdx.x] = 1;
  out[0] = values[0];
}

TEST_F(SimtDeathTest, AWriteBehindTheEndOfSharedMemory) {
  Ints out(1);
  EXPECT_DEATH(launch(1, 64, Order::ascending, [&] { write_behind_shared_kernel(out.data()); }),
               "insufficient space");
}

TEST_F(SimtDeathTest, AnIndexThatOverflows) {
  Ints out(64);
  const int rows = 1 << 28;
  EXPECT_DEATH(
      launch(1, 64, Order::ascending, [&] { out[threadIdx.x] = rows * int(threadIdx.x) % 64; }),
      "signed integer overflow");
}

#endif

}  // namespace
}  // namespace sfnn
