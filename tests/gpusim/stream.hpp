// Streams of the simulated device. Work runs at once, in the order of the calls, unless a test has
// asked for another StreamOrder; on a capturing stream it is written down instead and runs when its
// graph is launched.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

namespace sfnn::gpusim {

enum class NodeKind { kKernel, kMemcpy, kMemset, kGemm, kHost };

cudaError_t submit(cudaStream_t stream, NodeKind kind, std::function<void()> work);

// Runs what is on the stream, and what it waits for.
void finish(cudaStream_t stream);

// For calls that a capture forbids: cudaErrorStreamCaptureUnsupported, and the capture is lost.
cudaError_t forbid_while_capturing();

}  // namespace sfnn::gpusim
