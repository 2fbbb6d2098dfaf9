// A data set as the trainer sees it: examples of x and y, without any trace of where they came
// from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "host/base/names.hpp"
#include "host/data/bytes.hpp"
#include "host/data/units.hpp"
#include "kernels/output.hpp"

namespace sfnn {

// Rows of numbers: bytes (grey: scale 1/255; bits and classes: scale 1) or floats. Row-major.
struct Columns {
  std::variant<std::vector<std::uint8_t>, std::vector<float>> values;
  std::int64_t cols = 0;
  float scale = 1;  // value = stored * scale

  std::int64_t rows() const {
    return cols ? std::visit([](const auto& v) { return std::int64_t(v.size()); }, values) / cols
                : 0;
  }
  float at(std::int64_t row, std::int64_t col) const;
  std::vector<float> mean() const;  // [cols]
};

struct Examples {
  std::int64_t count = 0;
  Columns x;  // [count, D_in]
  Columns y;  // [count, D_out], or [count, 1] with the class for softmax
};

Examples first_of(const Examples&, std::int64_t count);  // a copy; at most as many as there are

// A picture's layout, for showing x and y. Zero height: not a picture.
struct ImageShape {
  std::int64_t height = 0, width = 0;
  bool operator==(const ImageShape&) const = default;
};

struct DataSet {
  std::string name;             // "mnist halves, binarised once"
  Examples train, valid, test;  // valid may be empty
  std::int64_t D_in = 0, D_out = 0;
  Output output = Output::bernoulli;  // its family: see kTargetOutputs
  bool binarize_train = false;  // bits of the training examples are drawn each time they are seen
  Units units = {};             // in which the network sees x and y
  ImageShape x_image, y_image;
  bool y_below_x = false;  // halves: y continues the picture of x downwards
  // How bytes were read, and are to be read in other files of inputs and of targets.
  ByteEncoding x_bytes = ByteEncoding::numbers, y_bytes = ByteEncoding::numbers;
  std::vector<std::string> warnings;  // one sentence each: what looks like a mistake
};

// What to predict. Automatic: faces for faces, else halves. Own files allow no other value: for
// them data.output decides.
enum class Task { automatic, halves, classes, faces, denoise };
inline constexpr Names<Task, 5> kTasks{{{Task::automatic, "auto"},
                                        {Task::halves, "halves"},
                                        {Task::classes, "classes"},
                                        {Task::faces, "faces"},
                                        {Task::denoise, "denoise"}}};
constexpr const auto& names_of(Task) { return kTasks; }

// When the pixels of grey images are drawn as bits.
enum class Binarize { once, epoch, none };
inline constexpr Names<Binarize, 3> kBinarize{
    {{Binarize::once, "once"}, {Binarize::epoch, "epoch"}, {Binarize::none, "none"}}};
constexpr const auto& names_of(Binarize) { return kBinarize; }

// data.set of a run whose examples were arrays of a program, which are stored nowhere.
inline constexpr const char* kArrays = "arrays";

// How to make one; the config's [data] table.
struct DataOptions {
  // glyphs (built in), mnist, fashion-mnist, faces/att, any folder with files of the same names, or
  // files: the four below
  std::string set = "glyphs";
  std::string train_x, train_y, test_x, test_y;  // files: paths, relative ones from the root
  BytesAre bytes = BytesAre::automatic;          // files: x, and y of real targets
  Output output = Output::bernoulli;             // files
  Task task = Task::automatic;                   // denoise is for glyphs, faces for faces
  Binarize binarize = Binarize::once;            // halves of grey images
  bool center = false;                           // subtract the training mean from x
  Standardize standardize = Standardize::none;   // of the training examples, for all
  std::int64_t limit = 0;                        // number of training examples, at most; 0: all
  std::int64_t valid = 0;                        // number of others set aside for validation
  std::int64_t test_limit = 0;                   // the same for the test examples; 0: all
  std::int64_t test_subjects = 10;               // faces: whole subjects held out
  std::uint64_t seed = 0;                        // for binarisation, splits and glyphs
  std::string root;  // data directory; empty: the search path (search_path.hpp)
};

// What automatic stands for.
inline Task task_of(const DataOptions& options) {
  if (options.task != Task::automatic || options.set == "files" || options.set == kArrays)
    return options.task;
  return options.set.find("faces") != std::string::npos ? Task::faces : Task::halves;
}

// Are the inputs bits that were drawn from pictures?
inline bool draws_bits(const DataOptions& options) {
  if (options.set == "files" || options.set == kArrays) return false;
  return options.set == "glyphs" ||
         (task_of(options) == Task::halves && options.binarize != Binarize::none);
}

// The folder of the set. Throws DataError if there is none.
std::filesystem::path data_folder(const DataOptions&);

DataSet load_data(const DataOptions&);  // throws ConfigError, DataError

}  // namespace sfnn
