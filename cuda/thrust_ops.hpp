// The two device-wide algorithms that we take from Thrust: dropping rows, and sorting an epoch's
// order.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "cuda/device_buffer.hpp"
#include "kernels/philox.hpp"

namespace sfnn {

// Thrust's temporaries: memory once taken is kept for the next call of its size or less.
class TemporaryPool {
 public:
  std::byte* take(std::size_t bytes);
  void give_back(std::byte*);

 private:
  struct Piece {
    DeviceMemory memory;
    std::size_t bytes;
    bool taken;
  };
  std::vector<Piece> pieces_;
};

// index = the rows with w_bar >= threshold, ascending; returns how many. Waits for the device: the
// host needs the size of the products that follow.
std::int64_t select_rows(const float* w_bar, std::int64_t rows, float threshold,
                         std::int32_t* index, TemporaryPool&, cudaStream_t);

// order = 0 .. count - 1, sorted by shuffle_key. keys: scratch, [count]
void shuffle(const DrawKey&, std::int64_t count, std::uint64_t* keys, std::int32_t* order,
             TemporaryPool&, cudaStream_t);

}  // namespace sfnn
