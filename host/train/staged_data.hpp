// Examples in memory that a backend can read, and how a tile of them becomes x and y of a pass.
#pragma once

#include <span>

#include "host/backend/backend.hpp"
#include "host/data/dataset.hpp"
#include "host/train/pass.hpp"

namespace sfnn {

class StagedData {
 public:
  // `examples` must outlive this: on the CPU they are read where they are. mean: taken off x; may
  // be empty.
  StagedData(Backend&, const Examples& examples, std::span<const float> mean);

  struct Randomness {
    bool binarize = false;        // draw the bits of x and y anew
    float noise = 0;              // standard deviation of what is added to x
    std::uint64_t data_seed = 0;  // of the bits
    std::uint64_t seed = 0;       // of the noise
  };

  std::int64_t count() const { return count_; }
  std::int64_t x_cols() const { return x_.cols; }
  void gather(Backend&, const Tile&, const std::int32_t* order, const Randomness&, Pass&) const;

 private:
  std::int64_t count_;
  Buffer x_copy_, y_copy_, mean_;
  DataColumns x_, y_;
};

}  // namespace sfnn
