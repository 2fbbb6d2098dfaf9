// A data set as the trainer sees it: examples of x and y, without any trace of where they came
// from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "host/base/names.hpp"
#include "host/data/bytes.hpp"
#include "host/data/columns.hpp"
#include "host/data/file_facts.hpp"
#include "host/data/units.hpp"
#include "kernels/output.hpp"

namespace sfnn {

struct Examples {
  std::int64_t count = 0;
  Columns x;  // [count, D_in]; D_in may be 0
  Columns y;  // [count, D_out], or [count, 1] with the class for softmax
};

Examples first_of(const Examples&, std::int64_t count);  // a copy; at most as many as there are

// A picture's layout, for showing x and y. Zero height: not a picture.
struct ImageShape {
  std::int64_t height = 0, width = 0;
  std::int64_t channels = 1;  // 3: red, green and blue of each pixel side by side
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
  std::vector<FileFacts> files;       // own files: what a look over them has found
  std::vector<std::string> warnings;  // one sentence each: what looks like a mistake
};

// What to predict. Automatic: faces for faces, else halves; for own files data.output decides. With
// generate there is no input: y is the whole picture, or whatever an own file holds.
enum class Task { automatic, halves, classes, faces, denoise, generate };
inline constexpr Names<Task, 6> kTasks{{{Task::automatic, "auto"},
                                        {Task::halves, "halves"},
                                        {Task::classes, "classes"},
                                        {Task::faces, "faces"},
                                        {Task::denoise, "denoise"},
                                        {Task::generate, "generate"}}};
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
  std::string target;                            // files: y columns of a CSV file, others are x
  BytesAre bytes = BytesAre::automatic;          // files: x, and y of real targets
  Output output = Output::bernoulli;             // files
  Task task = Task::automatic;                   // denoise is for glyphs, faces for faces
  Binarize binarize = Binarize::once;            // halves of grey images, or whole ones
  bool center = false;                           // subtract the training mean from x
  Standardize standardize = Standardize::none;   // of the training examples, for all
  std::int64_t limit = 0;                        // number of training examples, at most; 0: all
  std::int64_t valid = 0;                        // number of others set aside for validation
  std::int64_t test_limit = 0;                   // the same for the test examples; 0: all
  std::int64_t test_subjects = 10;               // faces: whole subjects held out
  std::uint64_t seed = 0;                        // for binarisation, splits and glyphs
  std::string root;              // data directory; empty: the search path (search_path.hpp)
  std::vector<FileFacts> known;  // own files that need not be looked over again
  // Files of more are left where they are and read as examples are asked for.
  std::size_t most_in_memory = std::size_t(64) << 20;
};

// What is known of a trained network's data, without its training files.
struct TrainedOn {
  std::int64_t D_out = 0;
  ByteEncoding x_bytes = ByteEncoding::numbers;
  std::optional<ByteEncoding> y_bytes;  // none: not known
};

// What automatic stands for.
inline Task task_of(const DataOptions& options) {
  if (options.task != Task::automatic || options.set == "files" || options.set == kArrays)
    return options.task;
  return options.set.find("faces") != std::string::npos ? Task::faces : Task::halves;
}

// For people: how inputs are read.
inline std::string_view describe_inputs(std::int64_t D_in, ByteEncoding x_bytes) {
  return D_in == 0 ? "none" : describe(x_bytes);
}

// Are the inputs bits that were drawn from pictures?
inline bool draws_bits(const DataOptions& options) {
  if (options.set == "files" || options.set == kArrays) return false;
  return options.set == "glyphs" ||
         (task_of(options) == Task::halves && options.binarize != Binarize::none);
}

// The folder of the set. Throws DataError if there is none.
std::filesystem::path data_folder(const DataOptions&);

// All of them throw ConfigError, DataError.
DataSet load_data(const DataOptions&);
// The test examples alone: no training file is read, unless one file has both (faces).
DataSet load_test_data(const DataOptions&, const TrainedOn&);

}  // namespace sfnn
