#include "host/backend/backend.hpp"

namespace sfnn {

Buffer::Buffer(Backend& backend, std::size_t bytes)
    : backend_(&backend), data_(bytes ? backend.allocate(bytes) : nullptr), bytes_(bytes) {}

Buffer::~Buffer() {
  if (data_) backend_->release(data_);
}

}  // namespace sfnn
