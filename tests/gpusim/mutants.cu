#include "tests/gpusim/mutants.hpp"

namespace sfnn::mutants {

template <Mutation kMutation>
__global__ void mutant(const float* x, float* out, float* scratch, int size) {
  __shared__ float shared[65];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  if (kMutation == Mutation::kReturnBeforeBarrier && i >= size) return;
  if (kMutation == Mutation::kShuffleFromAbsent && t % 32 == 31) return;
  if (t == 0 && kMutation != Mutation::kSharedUninitialised) shared[0] = 0;
  shared[t + (kMutation == Mutation::kSharedOutOfBounds ? 33 : 1)] = i < size ? x[i] : 0;
  if (kMutation == Mutation::kTwoBarriers) {
    if (t < 32)
      __syncthreads();
    else
      asm volatile("{ bar.sync 0; }" ::: "memory");
  } else if (kMutation != Mutation::kNoBarrier && kMutation != Mutation::kShuffleFromAbsent) {
    __syncthreads();
  }
  float sum = shared[t + 1];
  if (kMutation != Mutation::kShuffleFromAbsent) sum += shared[t];
  if (kMutation == Mutation::kMaskLeavesOutLane) sum += __shfl_xor_sync(0x0000ffffu, sum, 1);
  if (kMutation == Mutation::kShuffleFromAbsent) sum += __shfl_down_sync(~0u, sum, 1);
  if (kMutation == Mutation::kMaskOfBranch) {
    if (t % 2 == 0) sum += __shfl_xor_sync(~0u, sum, 2);
    __syncthreads();
  }
  if (kMutation == Mutation::kGlobalUninitialised) sum += scratch[1];
  if (kMutation == Mutation::kBlocksRace && t == 0) scratch[0] = sum;
  if (kMutation == Mutation::kBlocksReadAndWrite && t == 0) {
    if (blockIdx.x == 1) scratch[0] = sum;
    if (blockIdx.x == 0) sum += out[0] = scratch[0];
  }
  if (kMutation == Mutation::kAtomicAgainstStore) {
    if (t == 0) scratch[0] = 1;
    if (t == 1) atomicExch(scratch, 2.0f);
  }
  if (kMutation == Mutation::kMisaligned && t == 1) {
    const float2 pair = *reinterpret_cast<const float2*>(x + 1);
    sum += pair.x * pair.y;
  }
  if (kMutation == Mutation::kTrap && t == 3) __trap();
  if (i < size || kMutation == Mutation::kNoBoundsCheck) out[i] = sum;
}

__global__ void copy_kernel(const float* x, float* y, int size, int stride) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) y[i] = x[i * stride];
}

template <bool kSynchronise>
__global__ void warp_exchange_kernel(float* out) {
  __shared__ float shared[32];
  const unsigned lane = threadIdx.x;
  shared[lane] = float(lane);
  if (kSynchronise) __syncwarp();
  out[lane] = shared[31 - lane];
}

cudaError_t launch(Mutation mutation, const float* x, float* out, float* scratch, int size,
                   int threads) {
  const int blocks = (size + threads - 1) / threads;
  switch (mutation) {
#define SFNN_MUTANT(name)                                               \
  case Mutation::name:                                                  \
    mutant<Mutation::name><<<blocks, threads>>>(x, out, scratch, size); \
    break
    SFNN_MUTANT(kNone);
    SFNN_MUTANT(kNoBarrier);
    SFNN_MUTANT(kNoBoundsCheck);
    SFNN_MUTANT(kReturnBeforeBarrier);
    SFNN_MUTANT(kTwoBarriers);
    SFNN_MUTANT(kMaskLeavesOutLane);
    SFNN_MUTANT(kShuffleFromAbsent);
    SFNN_MUTANT(kMaskOfBranch);
    SFNN_MUTANT(kSharedUninitialised);
    SFNN_MUTANT(kSharedOutOfBounds);
    SFNN_MUTANT(kGlobalUninitialised);
    SFNN_MUTANT(kBlocksRace);
    SFNN_MUTANT(kBlocksReadAndWrite);
    SFNN_MUTANT(kAtomicAgainstStore);
    SFNN_MUTANT(kMisaligned);
    SFNN_MUTANT(kTrap);
#undef SFNN_MUTANT
  }
  return cudaGetLastError();
}

cudaError_t launch_copy(const float* x, float* y, int size, int stride) {
  copy_kernel<<<(size + 63) / 64, 64>>>(x, y, size, stride);
  return cudaGetLastError();
}

cudaError_t launch_warp_exchange(float* out, bool synchronise) {
  if (synchronise)
    warp_exchange_kernel<true><<<1, 32>>>(out);
  else
    warp_exchange_kernel<false><<<1, 32>>>(out);
  return cudaGetLastError();
}

}  // namespace sfnn::mutants
