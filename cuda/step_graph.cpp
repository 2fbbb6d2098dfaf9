#include "cuda/step_graph.hpp"

namespace sfnn {

void StepGraph::run(std::int64_t variant, FunctionRef<void()> enqueue) {
  Recording& recording = recordings_[variant];
  if (recording.scratch_moves != scratch_moves_) {
    recording.graph = GraphExec();
    enqueue();
    recording.scratch_moves = scratch_moves_;  // after: this run may have moved memory itself
    return;
  }
  if (!recording.graph) recording.graph = record(enqueue);
  SFNN_CUDA_CHECK(cudaGraphLaunch(recording.graph.get(), stream_));
}

GraphExec StepGraph::record(FunctionRef<void()> enqueue) const {
  SFNN_CUDA_CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
  cudaGraph_t captured = nullptr;
  try {
    enqueue();
  } catch (...) {  // the stream must not stay in capture mode
    static_cast<void>(cudaStreamEndCapture(stream_, &captured));
    const Graph broken(captured);
    static_cast<void>(cudaGetLastError());
    throw;
  }
  SFNN_CUDA_CHECK(cudaStreamEndCapture(stream_, &captured));
  const Graph graph(captured);
  cudaGraphExec_t executable = nullptr;
  SFNN_CUDA_CHECK(cudaGraphInstantiate(&executable, graph.get(), 0));
  return GraphExec(executable);
}

}  // namespace sfnn
