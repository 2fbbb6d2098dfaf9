#include "host/data/mnist.hpp"

#include <fmt/format.h>

#include <span>

#include "host/base/error.hpp"
#include "host/data/search_path.hpp"
#include "host/data/split.hpp"
#include "host/formats/idx.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;
using Rows = std::span<const std::int32_t>;

// A run of pixels of the images named by `rows`, as grey bytes.
Columns cut(const Images& images, Rows rows, std::int64_t first, std::int64_t cols) {
  std::vector<std::uint8_t> values;
  values.reserve(rows.size() * cols);
  for (const std::int64_t row : rows) {
    const auto begin = images.pixels.begin() + row * images.size() + first;
    values.insert(values.end(), begin, begin + cols);
  }
  return {std::move(values), cols, kGreyScale};
}

// Each pixel becomes 1 with its grey value as probability. Draws belong to the row in the file, so
// that neither data.limit nor the validation split changes them.
void binarize(Columns& grey, Rows rows, const DrawKey& key) {
  auto value = std::get<std::vector<std::uint8_t>>(grey.values).begin();
  for (const std::int32_t row : rows)
    for (std::int64_t block = 0; 4 * block < grey.cols; ++block) {
      const PhiloxWords words = draw_words(key, std::uint32_t(row), 0, std::uint32_t(block));
      for (std::int64_t i = 0; i < 4 && 4 * block + i < grey.cols; ++i, ++value)
        *value = uniform_from_word(words.v[i]) <= float(*value) * grey.scale;
    }
  grey.scale = 1;
}

Examples cut_halves(const Images& images, Rows rows) {
  const std::int64_t upper = images.height / 2 * images.width;
  return {std::int64_t(rows.size()), cut(images, rows, 0, upper),
          cut(images, rows, upper, images.size() - upper)};
}

void binarize(Examples& examples, Rows rows, std::uint64_t seed, std::uint32_t part) {
  binarize(examples.x, rows, {seed, part, kSiteBinarizeInput});
  binarize(examples.y, rows, {seed, part, kSiteBinarizeTarget});
}

struct TrainAndTest {
  Images train, test;
};

// For a set that was fetched in part, the message says how to get the rest.
fs::path find_file(const fs::path& folder, std::string_view name) {
  try {
    return find_idx(folder, {name});
  } catch (const DataError& error) {
    if (!can_be_fetched(folder.filename())) throw;
    throw DataError(fmt::format("{}, or complete it with: sfnn data {} --to {}", error.what(),
                                folder.filename().string(), folder.parent_path().string()));
  }
}

TrainAndTest read_both(const fs::path& folder) {
  const fs::path train_path = find_file(folder, "train-images-idx3-ubyte");
  const fs::path test_path = find_file(folder, "t10k-images-idx3-ubyte");
  TrainAndTest both{read_images(train_path), read_images(test_path)};
  if (both.train.height != both.test.height || both.train.width != both.test.width)
    throw DataError(fmt::format("{}: images are {} x {}, but {} x {} in {}", test_path.string(),
                                both.test.height, both.test.width, both.train.height,
                                both.train.width, train_path.string()));
  return both;
}

std::vector<std::uint8_t> read_labels(const fs::path& path, std::int64_t image_count) {
  std::vector<std::uint8_t> labels;
  for (const std::int32_t label : read_ids(path, image_count)) {
    if (label < 0 || label >= kMnistClasses)
      throw DataError(fmt::format("{}: label {} of example {} is not in 0 .. {}", path.string(),
                                  label, labels.size(), kMnistClasses - 1));
    labels.push_back(std::uint8_t(label));
  }
  return labels;
}

Examples label_examples(const Images& images, const std::vector<std::uint8_t>& labels, Rows rows) {
  std::vector<std::uint8_t> y;
  for (const std::int32_t row : rows) y.push_back(labels[row]);
  return {std::int64_t(rows.size()), cut(images, rows, 0, images.size()), {std::move(y), 1, 1}};
}

}  // namespace

DataSet load_halves(const DataOptions& options) {
  const auto [train, test] = read_both(data_folder(options));
  if (train.height < 2)
    throw DataError(data_folder(options).string() + ": images of one row have no halves");
  const Split split = split_rows(train.count, options);
  const auto test_rows = all_rows(limited(test.count, options.test_limit));

  DataSet data;
  data.train = cut_halves(train, split.train);
  data.valid = cut_halves(train, split.valid);
  data.test = cut_halves(test, test_rows);
  data.binarize_train = options.binarize == Binarize::epoch;
  if (options.binarize == Binarize::once)
    binarize(data.train, split.train, options.seed, kTrainPart);
  if (options.binarize != Binarize::none) {
    binarize(data.valid, split.valid, options.seed, kTrainPart);
    binarize(data.test, test_rows, options.seed, kTestPart);
  }
  data.name = options.set + " halves, " +
              (options.binarize == Binarize::none   ? "grey"
               : options.binarize == Binarize::once ? "binarised once"
                                                    : "binarised again each epoch");
  data.D_in = data.train.x.cols;
  data.D_out = data.train.y.cols;
  data.output = Output::bernoulli;
  data.x_image = {train.height / 2, train.width};
  data.y_image = {train.height - train.height / 2, train.width};
  data.y_below_x = true;
  return data;
}

DataSet load_classes(const DataOptions& options) {
  const fs::path folder = data_folder(options);
  const auto [train, test] = read_both(folder);
  const auto train_labels = read_labels(find_file(folder, "train-labels-idx1-ubyte"), train.count);
  const auto test_labels = read_labels(find_file(folder, "t10k-labels-idx1-ubyte"), test.count);
  const Split split = split_rows(train.count, options);

  DataSet data;
  data.name = options.set + " classes";
  data.train = label_examples(train, train_labels, split.train);
  data.valid = label_examples(train, train_labels, split.valid);
  data.test = label_examples(test, test_labels, all_rows(limited(test.count, options.test_limit)));
  data.D_in = train.size();
  data.D_out = kMnistClasses;
  data.output = Output::softmax;
  data.x_image = {train.height, train.width};
  return data;
}

}  // namespace sfnn
