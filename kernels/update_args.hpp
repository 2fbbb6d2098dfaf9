// Ops that end a step.
#pragma once

#include <cstdint>

namespace sfnn {

// v = momentum * v + scale * sum of parts; params += learning rate * v
struct UpdateArgs {
  static constexpr const char* kName = "update";
  float* params = nullptr;       // [size]
  float* velocity = nullptr;     // [size]
  const float* parts = nullptr;  // [part_count, part_stride]: sums of gradients, added in order
  std::int64_t size = 0, part_count = 0, part_stride = 0;
  float scale = 1;  // 1 / batch size
  float momentum = 0.9f;
};

// L_bar's averages: avg = decay * avg + (1 - decay) * sum / rows; the first step starts them.
struct BaselineUpdateArgs {
  static constexpr const char* kName = "update_baseline";
  float* averages = nullptr;     // [size]
  const float* parts = nullptr;  // [part_count, part_stride]
  std::int64_t size = 0, part_count = 0, part_stride = 0;
  float scale = 1;  // 1 / (N*M) of the whole batch
  float decay = 0.99f;
};

}  // namespace sfnn
