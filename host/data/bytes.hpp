// What an unsigned byte in a file of inputs means: a number as it is, a bit, or a grey value (255
// is 1). Fixed at training time and stored in the checkpoint.
#pragma once

#include "host/data/dataset.hpp"

namespace sfnn {

enum class ByteEncoding { numbers, bits, grey };

// For a network that was trained on the set: pictures are grey, drawn as bits or not; own files
// (data.set = files) and arrays are read like their training inputs.
inline ByteEncoding input_bytes(const std::string& set, const DataSet& data) {
  if (set != "files" && set != kArrays) return ByteEncoding::grey;
  if (std::holds_alternative<std::vector<float>>(data.train.x.values)) return ByteEncoding::numbers;
  return data.train.x.scale == 1 ? ByteEncoding::bits : ByteEncoding::grey;
}

}  // namespace sfnn
