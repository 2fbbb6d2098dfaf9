#include <algorithm>

#include "cuda/thrust_ops.hpp"

namespace sfnn {

std::byte* TemporaryPool::take(std::size_t bytes) {
  for (Piece& piece : pieces_) {
    if (piece.taken || piece.bytes < bytes) continue;
    piece.taken = true;
    return piece.memory.get();
  }
  constexpr std::size_t kSmallest = std::size_t(1) << 20;  // so that a slightly larger one fits too
  const std::size_t size = std::max(bytes, kSmallest);
  pieces_.push_back({make_device_memory(size), size, true});
  return pieces_.back().memory.get();
}

void TemporaryPool::give_back(std::byte* data) {
  for (Piece& piece : pieces_)
    if (piece.memory.get() == data) piece.taken = false;
}

}  // namespace sfnn
