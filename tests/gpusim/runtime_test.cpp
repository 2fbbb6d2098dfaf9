// The runtime's and cuBLAS's functions as the product uses them: the same on a device and in the
// simulator.
#include <cublas_v2.h>

#include <cmath>

#include "tests/gpusim/device_array.hpp"
#include "tests/gpusim/probes.hpp"

namespace sfnn::probes {
namespace {

constexpr float kOne = 1, kZero = 0;

TEST(Runtime, GraphReplaysWhatWasCaptured) {
  const auto x = values(256, -1, 1);
  DeviceArray<float> d_x(x), d_y(x.size()), d_shift(std::vector<float>{10}), d_copy(1);
  cudaStream_t stream, side;
  cudaEvent_t fork, join;
  SFNN_ASSERT_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  SFNN_ASSERT_CUDA(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  SFNN_ASSERT_CUDA(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  SFNN_ASSERT_CUDA(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));

  cudaGraph_t graph;
  cudaGraphExec_t exec;
  SFNN_ASSERT_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  SFNN_ASSERT_CUDA(launch_increment(d_shift.data(), stream));
  SFNN_ASSERT_CUDA(cudaEventRecord(fork, stream));
  SFNN_ASSERT_CUDA(cudaStreamWaitEvent(side, fork, 0));
  SFNN_ASSERT_CUDA(
      cudaMemcpyAsync(d_copy.data(), d_shift.data(), 4, cudaMemcpyDeviceToDevice, side));
  SFNN_ASSERT_CUDA(cudaEventRecord(join, side));
  SFNN_ASSERT_CUDA(launch_axpy4(d_x.data(), d_y.data(), d_shift.data(), 256, stream));
  SFNN_ASSERT_CUDA(cudaStreamWaitEvent(stream, join, 0));
  SFNN_ASSERT_CUDA(cudaStreamEndCapture(stream, &graph));
  size_t nodes = 0;
  SFNN_ASSERT_CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_EQ(nodes, 3u);
  EXPECT_EQ(d_shift.to_host()[0], 10.0f) << "capturing must not run anything";

  SFNN_ASSERT_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  for (int replay = 1; replay <= 3; ++replay) {
    SFNN_ASSERT_CUDA(cudaGraphLaunch(exec, stream));
    SFNN_ASSERT_CUDA(cudaStreamSynchronize(stream));
    EXPECT_EQ(d_copy.to_host()[0], 10.0f + float(replay));
    const auto y = d_y.to_host();
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_NEAR(y[i], 2 * x[i] + 10 + float(replay), 1e-6);
  }
  SFNN_ASSERT_CUDA(cudaGraphExecDestroy(exec));
  SFNN_ASSERT_CUDA(cudaGraphDestroy(graph));
  SFNN_ASSERT_CUDA(cudaEventDestroy(fork));
  SFNN_ASSERT_CUDA(cudaEventDestroy(join));
  SFNN_ASSERT_CUDA(cudaStreamDestroy(side));
  SFNN_ASSERT_CUDA(cudaStreamDestroy(stream));
}

TEST(Runtime, SynchronisingACapturingStreamIsRefused) {
  cudaStream_t stream;
  cudaGraph_t graph;
  SFNN_ASSERT_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  SFNN_ASSERT_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  cudaGetLastError();
  SFNN_ASSERT_CUDA(cudaStreamDestroy(stream));
}

TEST(Runtime, AllocatingDuringACaptureIsRefused) {
  cudaStream_t stream;
  cudaGraph_t graph;
  void* p = nullptr;
  SFNN_ASSERT_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  SFNN_ASSERT_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  EXPECT_EQ(cudaMalloc(&p, 16), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  cudaGetLastError();
  SFNN_ASSERT_CUDA(cudaStreamDestroy(stream));
}

TEST(Runtime, AnEmptyGridIsAnInvalidConfigurationThatPasses) {
  DeviceArray<float> d_out(1);
  EXPECT_EQ(launch_volume(d_out.data(), 0, 1, 1), cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(Runtime, CopiesInTwoDimensions) {
  const auto x = values(12, 0, 1);
  DeviceArray<float> d_x(x), d_y(std::vector<float>(8, -1));
  SFNN_ASSERT_CUDA(
      cudaMemcpy2D(d_y.data(), 16, d_x.data() + 1, 24, 8, 2, cudaMemcpyDeviceToDevice));
  EXPECT_EQ(d_y.to_host(), (std::vector<float>{x[1], x[2], -1, -1, x[7], x[8], -1, -1}));
}

TEST(Runtime, EventsMeasureAndPinnedMemoryCopies) {
  float* pinned = nullptr;
  cudaEvent_t from, to;
  SFNN_ASSERT_CUDA(cudaMallocHost(reinterpret_cast<void**>(&pinned), 4));
  SFNN_ASSERT_CUDA(cudaEventCreate(&from));
  SFNN_ASSERT_CUDA(cudaEventCreate(&to));
  DeviceArray<float> d_x(std::vector<float>{3});
  SFNN_ASSERT_CUDA(cudaEventRecord(from));
  SFNN_ASSERT_CUDA(launch_increment(d_x.data(), nullptr));
  SFNN_ASSERT_CUDA(cudaMemcpyAsync(pinned, d_x.data(), 4, cudaMemcpyDeviceToHost, nullptr));
  SFNN_ASSERT_CUDA(cudaEventRecord(to));
  SFNN_ASSERT_CUDA(cudaEventSynchronize(to));
  float milliseconds = -1;
  SFNN_ASSERT_CUDA(cudaEventElapsedTime(&milliseconds, from, to));
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(*pinned, 4);
  SFNN_ASSERT_CUDA(cudaEventDestroy(from));
  SFNN_ASSERT_CUDA(cudaEventDestroy(to));
  SFNN_ASSERT_CUDA(cudaFreeHost(pinned));
}

// C[m, n] = A op B op, column-major, by definition.
std::vector<float> multiplied(const std::vector<float>& a, const std::vector<float>& b, int m,
                              int n, int k, bool ta, bool tb) {
  std::vector<float> c(std::size_t(m * n));
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int l = 0; l < k; ++l)
        sum += double(a[std::size_t(ta ? i * k + l : l * m + i)]) *
               b[std::size_t(tb ? l * n + j : j * k + l)];
      c[std::size_t(j * m + i)] = float(sum);
    }
  return c;
}

class Blas : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(cublasCreate(&handle_), CUBLAS_STATUS_SUCCESS); }
  void TearDown() override { cublasDestroy(handle_); }
  cublasHandle_t handle_ = nullptr;
};

TEST_F(Blas, SgemmOfEveryTransposition) {
  const int m = 5, n = 7, k = 11;
  const auto a = values(m * k, -1, 1), b = values(k * n, -1, 1);
  DeviceArray<float> d_a(a), d_b(b), d_c(m * n);  // C uninitialised: beta is 0
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      ASSERT_EQ(cublasSgemm(handle_, ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb ? CUBLAS_OP_T : CUBLAS_OP_N,
                            m, n, k, &kOne, d_a.data(), ta ? k : m, d_b.data(), tb ? n : k, &kZero,
                            d_c.data(), m),
                CUBLAS_STATUS_SUCCESS);
      const auto c = d_c.to_host(), expected = multiplied(a, b, m, n, k, ta, tb);
      for (std::size_t i = 0; i < c.size(); ++i) EXPECT_NEAR(c[i], expected[i], 1e-5);
    }
}

TEST_F(Blas, Bf16OperandsAccumulateInFloat) {
  const int m = 3, n = 4, k = 200;
  std::vector<float> a(m * k), b(k * n);
  std::vector<std::uint16_t> a16(a.size()), b16(b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] = 1 + float(i % 7) / 128, a16[i] = std::uint16_t(0x3f80 + i % 7);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = float(i % 2), b16[i] = i % 2 ? 0x3f80 : 0;
  DeviceArray<std::uint16_t> d_a(a16), d_b(b16);
  DeviceArray<float> d_c(m * n);
  ASSERT_EQ(cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &kOne, d_a.data(), CUDA_R_16BF,
                         m, d_b.data(), CUDA_R_16BF, k, &kZero, d_c.data(), CUDA_R_32F, m,
                         CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
            CUBLAS_STATUS_SUCCESS);
  const auto c = d_c.to_host(), expected = multiplied(a, b, m, n, k, false, false);
  for (std::size_t i = 0; i < c.size(); ++i) EXPECT_NEAR(c[i], expected[i], 1e-4);
}

TEST_F(Blas, LeadingDimensionBelowTheRowsIsRefused) {
  DeviceArray<float> d_a(std::vector<float>(6, 1)), d_b(std::vector<float>(6, 1)), d_c(4);
  EXPECT_EQ(cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 3, 2, 2, &kOne, d_a.data(), 2,
                        d_b.data(), 2, &kZero, d_c.data(), 3),
            CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(Blas, ProductsReplayInAGraph) {
  cudaStream_t stream;
  SFNN_ASSERT_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  ASSERT_EQ(cublasSetStream(handle_, stream), CUBLAS_STATUS_SUCCESS);
  DeviceArray<unsigned char> workspace(4 << 20);
  ASSERT_EQ(cublasSetWorkspace(handle_, workspace.data(), 4 << 20), CUBLAS_STATUS_SUCCESS);
  DeviceArray<float> d_a(std::vector<float>{2}), d_b(std::vector<float>{3}),
      d_c(std::vector<float>{1});
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  SFNN_ASSERT_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  {
    const float alpha = 1, beta = 1;  // gone at replay: they are captured by value
    ASSERT_EQ(cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &alpha, d_a.data(), 1,
                          d_b.data(), 1, &beta, d_c.data(), 1),
              CUBLAS_STATUS_SUCCESS);
  }
  SFNN_ASSERT_CUDA(cudaStreamEndCapture(stream, &graph));
  SFNN_ASSERT_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  for (int replay = 0; replay < 2; ++replay) SFNN_ASSERT_CUDA(cudaGraphLaunch(exec, stream));
  SFNN_ASSERT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(d_c.to_host()[0], 13.0f);
  SFNN_ASSERT_CUDA(cudaGraphExecDestroy(exec));
  SFNN_ASSERT_CUDA(cudaGraphDestroy(graph));
  SFNN_ASSERT_CUDA(cudaStreamDestroy(stream));
}

}  // namespace
}  // namespace sfnn::probes
