// Kernels with one mistake each. What the simulator must say about each stands in mutants_test.cpp.
#pragma once

#include <cuda_runtime_api.h>

namespace sfnn::mutants {

enum class Mutation {
  kNone,
  kNoBarrier,            // neighbours read shared memory before it is written
  kNoBoundsCheck,        // the last block writes past the end
  kReturnBeforeBarrier,  // part of a block has left
  kTwoBarriers,          // a barrier on each side of a branch
  kMaskLeavesOutLane,    // half of the warp is not in the mask it passes
  kShuffleFromAbsent,    // reads a lane that has returned
  kMaskOfBranch,         // full mask while half of the warp waits elsewhere
  kSharedUninitialised,  // reads a word that was never written
  kSharedOutOfBounds,
  kGlobalUninitialised,
  kBlocksRace,          // all blocks write one word
  kBlocksReadAndWrite,  // a block reads what another writes
  kAtomicAgainstStore,
  kMisaligned,
  kTrap,
};

// out[size] gets x[i] + x[i - 1] within each block of 64; scratch[4] is uninitialised device
// memory.
cudaError_t launch(Mutation mutation, const float* x, float* out, float* scratch, int size,
                   int threads = 64);

// A correct kernel that copies floats: `stride` apart in memory, by blocks of 64.
cudaError_t launch_copy(const float* x, float* y, int size, int stride);

// Threads of a warp hand a value on through shared memory, with or without __syncwarp.
cudaError_t launch_warp_exchange(float* out, bool synchronise);

}  // namespace sfnn::mutants
