// Examples where a backend can read them, and how a tile of them becomes x and y of a pass.
//
// If they do not fit into the backend's memory, or lie in a file, they come in windows of `height`
// examples (see RowFeed). Training opens one window per step; a tile that is gathered outside of a
// step must lie in one window.
#pragma once

#include <memory>

#include "host/backend/backend.hpp"
#include "host/data/dataset.hpp"
#include "host/model/model.hpp"
#include "host/train/pass.hpp"

namespace sfnn {

class StagedData {
 public:
  // `examples` must outlive this: on the CPU they are read where they are.
  StagedData(Backend&, const Examples& examples, std::int64_t height);
  // What it will take of the backend's memory.
  static std::size_t bytes(const Backend&, const Examples&, std::int64_t height);
  // What an example takes in a pass, and in the windows of a data set that streams.
  static std::size_t pass_bytes(const Examples&);
  static std::size_t window_bytes(const Examples&);

  struct Randomness {
    bool binarize = false;        // draw the bits of x and y again
    float noise = 0;              // standard deviation of what is added to x
    std::uint64_t data_seed = 0;  // for the bits
    std::uint64_t seed = 0;       // for the noise
  };

  std::int64_t count() const { return count_; }
  std::int64_t height() const { return height_; }

  // Steps see the examples in this order from here on. [count], in the backend's memory.
  void reorder(const std::int32_t* order);
  // The step that the ops up to `end_step` belong to; neither is part of what is recorded. Returns
  // which memory its ops read, 0 or 1: a recording of one is not good for the other.
  int begin_step(std::int64_t step_of_epoch);
  void end_step();

  void gather(const Tile&, const Randomness&, const Model::GatherUnits&, Pass&) const;

 private:
  Backend& backend_;
  std::int64_t count_, height_;
  const std::int32_t* order_ = nullptr;
  Buffer x_copy_, y_copy_;
  DataColumns x_, y_;
  std::unique_ptr<RowReader> reader_;  // null: the examples are in memory
  std::unique_ptr<RowFeed> feed_;      // null: all of it is there
  RowFeed::Window step_window_;
  bool in_step_ = false;
};

}  // namespace sfnn
