// A training step as a CUDA graph: recorded once for each batch size, then replayed.
#pragma once

#include <cuda_runtime_api.h>

#include <map>

#include "cuda/handles.hpp"
#include "host/backend/backend.hpp"

namespace sfnn {

class StepGraph final : public StepRunner {
 public:
  // scratch_moves: counts up whenever memory that a recorded launch may name has moved.
  StepGraph(cudaStream_t stream, const int& scratch_moves)
      : stream_(stream), scratch_moves_(scratch_moves) {}

  // The first run of a variant is not recorded: scratch memory grows to its size and libraries
  // initialise themselves, and neither may happen while recording.
  void run(std::int64_t variant, FunctionRef<void()> enqueue) override;

 private:
  struct Recording {
    GraphExec graph;
    int scratch_moves = -1;  // when it was made; -1: never run
  };

  GraphExec record(FunctionRef<void()> enqueue) const;

  cudaStream_t stream_;
  const int& scratch_moves_;
  std::map<std::int64_t, Recording> recordings_;
};

}  // namespace sfnn
