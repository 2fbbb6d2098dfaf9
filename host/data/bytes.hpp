// What an unsigned byte in a file of inputs stands for: itself, 0 or 1, or a grey value of which
// 255 is 1. Training decides it, and a network is fed alike ever after.
#pragma once

#include "host/data/dataset.hpp"

namespace sfnn {

enum class Bytes { numbers, bits, grey };

// For a network that was trained on the set: its pictures are grey, drawn as bits or not; own files
// (data.set = files) and arrays are as their training inputs were.
inline Bytes input_bytes(const std::string& set, const DataSet& data) {
  if (set != "files" && set != kArrays) return Bytes::grey;
  if (std::holds_alternative<std::vector<float>>(data.train.x.values)) return Bytes::numbers;
  return data.train.x.scale == 1 ? Bytes::bits : Bytes::grey;
}

}  // namespace sfnn
