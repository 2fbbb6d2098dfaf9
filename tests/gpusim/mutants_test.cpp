// Each mistake must be caught, by its kind, and the message must lead to it.
#include "tests/gpusim/mutants.hpp"

#include <cublas_v2.h>
#include <gmock/gmock.h>

#include "tests/gpusim/device_array.hpp"
#include "tests/gpusim/gpusim.hpp"

namespace sfnn::mutants {
namespace {

using gpusim::FaultKind;
using probes::DeviceArray;
using probes::values;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

constexpr int kSize = 100;  // two blocks of 64, the second one not full

class Mutants : public testing::Test {
 protected:
  void TearDown() override { gpusim::clear_fault(); }

  void expect_fault(FaultKind kind, const std::string& says) {
    ASSERT_TRUE(gpusim::last_fault()) << "the mistake was not caught";
    const gpusim::Fault& fault = *gpusim::last_fault();
    EXPECT_EQ(int(fault.kind), int(kind)) << fault.what();
    EXPECT_THAT(fault.what(), HasSubstr(says));
  }

  // A mistake inside a kernel: the message names kernel, PTX line, source line, block and thread.
  void expect_caught(Mutation mutation, FaultKind kind, const std::string& says) {
    DeviceArray<float> x(values(kSize, -1, 1)), out(kSize), scratch(4);
    EXPECT_NE(launch(mutation, x.data(), out.data(), scratch.data(), kSize), cudaSuccess);
    expect_fault(kind, says);
    ASSERT_TRUE(gpusim::last_fault());
    EXPECT_THAT(gpusim::last_fault()->what(),
                AllOf(HasSubstr("kernel sfnn::mutants::mutant<"),
                      ContainsRegex("PTX line [0-9]+ .*mutants.cu:[0-9]+."),
                      ContainsRegex("block .[01],0,0., thread .[0-9]+,0,0.")));
    EXPECT_NE(cudaDeviceSynchronize(), cudaSuccess) << "the error must stay";
    gpusim::clear_fault();
  }
};

TEST_F(Mutants, NoMutationNoFault) {
  const auto x = values(kSize, -1, 1);
  DeviceArray<float> d_x(x), out(kSize), scratch(4);
  SFNN_ASSERT_CUDA(launch(Mutation::kNone, d_x.data(), out.data(), scratch.data(), kSize));
  const auto y = out.to_host();
  for (std::size_t i = 0; i < kSize; ++i) EXPECT_EQ(y[i], i % 64 ? x[i] + x[i - 1] : x[i]);
}

TEST_F(Mutants, NoBarrier) {
  // Down through the threads the read comes first and finds nothing; up, it races with the write.
  DeviceArray<float> x(values(kSize, -1, 1)), out(kSize), scratch(4);
  EXPECT_NE(launch(Mutation::kNoBarrier, x.data(), out.data(), scratch.data(), kSize), cudaSuccess);
  ASSERT_TRUE(gpusim::last_fault());
  EXPECT_THAT(gpusim::last_fault()->what(),
              testing::AnyOf(HasSubstr("data race in shared memory"),
                             HasSubstr("uninitialised shared memory")));
}
TEST_F(Mutants, NoBoundsCheck) {
  expect_caught(Mutation::kNoBoundsCheck, FaultKind::kOutOfBounds, "global memory out of bounds");
}
TEST_F(Mutants, ReturnBeforeBarrier) {
  expect_caught(Mutation::kReturnBeforeBarrier, FaultKind::kBarrier, "has returned");
}
TEST_F(Mutants, TwoBarriers) {
  expect_caught(Mutation::kTwoBarriers, FaultKind::kBarrier, "two barriers");
}
TEST_F(Mutants, MaskLeavesOutLane) {
  expect_caught(Mutation::kMaskLeavesOutLane, FaultKind::kWarpMask, "leaves out the lane");
}
TEST_F(Mutants, ShuffleFromAbsent) {
  expect_caught(Mutation::kShuffleFromAbsent, FaultKind::kWarpMask,
                "reads lane 31, which is not there");
}
TEST_F(Mutants, MaskOfBranch) {
  expect_caught(Mutation::kMaskOfBranch, FaultKind::kDeadlock, "never come");
}
TEST_F(Mutants, SharedUninitialised) {
  expect_caught(Mutation::kSharedUninitialised, FaultKind::kUninitialised,
                "uninitialised shared memory");
}
TEST_F(Mutants, SharedOutOfBounds) {
  expect_caught(Mutation::kSharedOutOfBounds, FaultKind::kOutOfBounds,
                "shared memory out of bounds");
}
TEST_F(Mutants, GlobalUninitialised) {
  expect_caught(Mutation::kGlobalUninitialised, FaultKind::kUninitialised,
                "uninitialised global memory");
}
TEST_F(Mutants, BlocksRace) { expect_caught(Mutation::kBlocksRace, FaultKind::kRace, "of block "); }
TEST_F(Mutants, Misaligned) {
  expect_caught(Mutation::kMisaligned, FaultKind::kMisaligned, "misaligned access of 8 bytes");
}
TEST_F(Mutants, Trap) { expect_caught(Mutation::kTrap, FaultKind::kTrap, "trap"); }

TEST_F(Mutants, OneBlockReadsWhatAnotherWrites) {
  DeviceArray<float> x(values(kSize, -1, 1)), out(kSize), scratch(std::vector<float>(4, 1));
  EXPECT_NE(launch(Mutation::kBlocksReadAndWrite, x.data(), out.data(), scratch.data(), kSize),
            cudaSuccess);
  expect_fault(FaultKind::kRace, "data race in global memory");
}

TEST_F(Mutants, AtomicAgainstStore) {
  DeviceArray<float> x(values(kSize, -1, 1)), out(kSize), scratch(std::vector<float>(4, 1));
  EXPECT_NE(launch(Mutation::kAtomicAgainstStore, x.data(), out.data(), scratch.data(), kSize),
            cudaSuccess);
  expect_fault(FaultKind::kRace, "data race in global memory");
}

TEST_F(Mutants, BothThreadOrdersSeeARace) {
  const auto before = gpusim::set_thread_order(gpusim::ThreadOrder::kUp);
  for (const auto order : {gpusim::ThreadOrder::kUp, gpusim::ThreadOrder::kDown}) {
    gpusim::set_thread_order(order);
    expect_caught(Mutation::kBlocksRace, FaultKind::kRace, "data race in global memory");
  }
  gpusim::set_thread_order(before);
}

TEST_F(Mutants, SyncwarpOrdersALaneAfterAnother) {
  DeviceArray<float> out(32);
  SFNN_ASSERT_CUDA(launch_warp_exchange(out.data(), /*synchronise=*/true));
  EXPECT_EQ(out.to_host()[3], 28.0f);
  EXPECT_NE(launch_warp_exchange(out.data(), /*synchronise=*/false), cudaSuccess);
  ASSERT_TRUE(gpusim::last_fault());
}

TEST_F(Mutants, TooManyThreadsAreRefused) {
  DeviceArray<float> x(values(kSize, -1, 1)), out(kSize), scratch(4);
  EXPECT_EQ(launch(Mutation::kNone, x.data(), out.data(), scratch.data(), kSize, /*threads=*/2048),
            cudaErrorInvalidConfiguration);
  EXPECT_FALSE(gpusim::last_fault()) << "a refused launch leaves the device as it was";
}

TEST_F(Mutants, DownloadOfUninitialisedMemory) {
  DeviceArray<float> x(4);
  float host[4];
  EXPECT_NE(cudaMemcpy(host, x.data(), sizeof host, cudaMemcpyDeviceToHost), cudaSuccess);
  expect_fault(FaultKind::kUninitialised, "cudaMemcpy reads uninitialised device memory");
}

TEST_F(Mutants, CopyBeyondAnAllocation) {
  DeviceArray<float> x(std::vector<float>(4, 1));
  float host[5];
  EXPECT_NE(cudaMemcpy(host, x.data(), sizeof host, cudaMemcpyDeviceToHost), cudaSuccess);
  expect_fault(FaultKind::kOutOfBounds, "cudaMemcpy of 20 bytes");
}

TEST_F(Mutants, CopyInTheWrongDirection) {
  DeviceArray<float> x(std::vector<float>(4, 1));
  float host[4] = {};
  EXPECT_NE(cudaMemcpy(x.data(), host, sizeof host, cudaMemcpyDeviceToHost), cudaSuccess);
  expect_fault(FaultKind::kBadCall, "direction");
}

TEST_F(Mutants, AllocationBeyondTheDevice) {
  gpusim::set_device_memory(1 << 20);
  void* p = nullptr;
  EXPECT_EQ(cudaMalloc(&p, 2 << 20), cudaErrorMemoryAllocation);
  gpusim::set_device_memory(std::size_t(8) << 30);
  EXPECT_EQ(cudaMalloc(&p, 2 << 20), cudaSuccess);
  EXPECT_EQ(cudaFree(p), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
}

class BlasMutants : public Mutants {
 protected:
  void SetUp() override { cublasCreate(&handle_); }
  void TearDown() override {
    cublasDestroy(handle_);
    Mutants::TearDown();
  }
  // C[2, 3] = A[2, 4] B[4, 3]
  cublasStatus_t multiply(float* a, float* b, float* c, int m, int n, float beta = 0) {
    const float one = 1;
    return cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, m, n, 4, &one, a, 2, b, 4, &beta, c, m);
  }
  cublasHandle_t handle_ = nullptr;
};

TEST_F(BlasMutants, SizesSwapped) {
  DeviceArray<float> a(std::vector<float>(8, 1)), b(std::vector<float>(12, 1)), c(6);
  EXPECT_EQ(multiply(a.data(), b.data(), c.data(), 2, 3), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(multiply(a.data(), b.data(), c.data(), 3, 2), CUBLAS_STATUS_INVALID_VALUE);
}
TEST_F(BlasMutants, OperandOutsideItsAllocation) {
  DeviceArray<float> a(std::vector<float>(7, 1)), b(std::vector<float>(12, 1)), c(6);
  EXPECT_EQ(multiply(a.data(), b.data(), c.data(), 2, 3), CUBLAS_STATUS_EXECUTION_FAILED);
  expect_fault(FaultKind::kBadCall, "column 3 of operand A");
}
TEST_F(BlasMutants, OperandUninitialised) {
  DeviceArray<float> a(std::vector<float>(8, 1)), b(12), c(6);
  EXPECT_EQ(multiply(a.data(), b.data(), c.data(), 2, 3), CUBLAS_STATUS_EXECUTION_FAILED);
  expect_fault(FaultKind::kUninitialised, "operand B");
}
TEST_F(BlasMutants, SumIntoUninitialisedResult) {
  DeviceArray<float> a(std::vector<float>(8, 1)), b(std::vector<float>(12, 1)), c(6);
  EXPECT_EQ(multiply(a.data(), b.data(), c.data(), 2, 3, /*beta=*/1),
            CUBLAS_STATUS_EXECUTION_FAILED);
  expect_fault(FaultKind::kUninitialised, "operand C");
}
TEST_F(BlasMutants, ResultOverlapsAnOperand) {
  DeviceArray<float> a(std::vector<float>(8, 1)), b(std::vector<float>(12, 1));
  EXPECT_EQ(multiply(a.data(), b.data(), a.data() + 2, 2, 3), CUBLAS_STATUS_EXECUTION_FAILED);
  expect_fault(FaultKind::kBadCall, "overlaps");
}

}  // namespace
}  // namespace sfnn::mutants
