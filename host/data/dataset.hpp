// A data set as the trainer sees it: examples of x and y, and nothing of where they came from.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "kernels/output.hpp"

namespace sfnn {

// Rows of numbers: grey bytes (value = byte / 255) or floats. Row-major.
struct Columns {
  std::variant<std::vector<std::uint8_t>, std::vector<float>> values;
  std::int64_t cols = 0;
  float scale = 1;  // value = stored * scale

  float at(std::int64_t row, std::int64_t col) const;
};

struct Examples {
  std::int64_t count = 0;
  Columns x;  // [count, D_in]
  Columns y;  // [count, D_out], or [count, 1] with the class for softmax
};

// A picture's layout, for those who want to look at x and y. Zero height: not a picture.
struct ImageShape {
  std::int64_t height = 0, width = 0;
};

struct DataSet {
  std::string name;             // "mnist halves, binarised once"
  Examples train, valid, test;  // valid may be empty
  std::int64_t D_in = 0, D_out = 0;
  Output output = Output::bernoulli;
  bool binarize_train =
      false;  // draw the bits of the training examples anew each time they are seen
  std::vector<float>
      x_mean;  // of the training inputs, taken off x; empty: inputs are used as they are
  ImageShape x_image, y_image;
};

// How to make one; the config's [data] table.
struct DataOptions {
  std::string set =
      "glyphs";  // glyphs | mnist | fashion-mnist | faces/att | any folder with the same files
  std::string task =
      "auto";  // halves | classes | faces; auto: glyphs and mnist halves, faces faces
  std::string binarize = "once";  // once | epoch | none (halves only)
  bool center = false;            // subtract the training mean from x
  std::int64_t limit = 0;         // training examples, before the validation split; 0: all
  std::int64_t valid = 0;         // of the training examples, how many are set aside for validation
  std::int64_t test_limit = 0;    // 0: all
  std::int64_t test_subjects = 10;  // faces: whole subjects held out
  std::uint64_t seed = 0;
  std::string root;  // data directory
};

DataSet load_data(const DataOptions&);  // throws ConfigError, DataError

}  // namespace sfnn
