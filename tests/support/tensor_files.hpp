// A checkpoint's file in memory, to be changed by a test.
#pragma once

#include "host/formats/safetensors.hpp"
#include "host/run/checkpoint.hpp"

namespace sfnn {

inline TensorFile to_tensor_file(const Checkpoint& checkpoint) {
  const TensorFileView view = view_of(checkpoint);
  TensorFile file{{}, view.metadata};
  for (const TensorView& tensor : view.tensors)
    file.tensors.push_back(
        {tensor.name, tensor.shape, {tensor.values.begin(), tensor.values.end()}});
  return file;
}

}  // namespace sfnn
