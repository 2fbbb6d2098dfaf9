#include "host/data/mnist.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <span>

#include "host/base/error.hpp"
#include "host/data/search_path.hpp"
#include "host/data/split.hpp"
#include "host/formats/idx.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;
using Rows = std::span<const std::int32_t>;

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

Columns grey(std::vector<std::uint8_t> pixels, std::int64_t cols) {
  return {std::move(pixels), cols, kGreyScale};
}

// Pictures: [count, height, width], bytes.
struct ImageFile {
  std::shared_ptr<const ArrayFile> file;

  std::int64_t count() const { return file->rows(); }
  std::int64_t height() const { return file->shape()[1]; }
  std::int64_t width() const { return file->shape()[2]; }
  std::int64_t size() const { return file->cols(); }
};

// The pictures named by `rows`, each cut after `upper` pixels.
Examples cut_halves(const ImageFile& images, Rows rows, std::int64_t upper) {
  std::vector<std::uint8_t> x, y;
  x.reserve(rows.size() * std::size_t(upper));
  y.reserve(rows.size() * std::size_t(images.size() - upper));
  const Columns whole{FileRows{images.file, {rows.begin(), rows.end()}}, images.size()};
  for_each_chunk(whole, [&](std::int64_t, std::span<const std::byte> chunk) {
    const auto* pixels = reinterpret_cast<const std::uint8_t*>(chunk.data());
    for (const auto* end = pixels + chunk.size(); pixels != end; pixels += images.size()) {
      x.insert(x.end(), pixels, pixels + upper);
      y.insert(y.end(), pixels + upper, pixels + images.size());
    }
  });
  return {std::int64_t(rows.size()), grey(std::move(x), upper),
          grey(std::move(y), images.size() - upper)};
}

void binarize(Examples& examples, Rows rows, std::uint64_t seed, std::uint32_t part) {
  binarize(examples.x, rows, {seed, part, kSiteBinarizeInput});
  binarize(examples.y, rows, {seed, part, kSiteBinarizeTarget});
}

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

ImageFile open_images(const fs::path& path) {
  ImageFile images{std::make_shared<const ArrayFile>(open_idx(path))};
  if (images.file->shape().size() != 3)
    images.file->fail(
        fmt::format("has {} dimensions, and 3 are needed", images.file->shape().size()));
  if (images.file->type() != NumberType::u8) images.file->fail("pixels must be unsigned bytes");
  return images;
}

// The files of a set; without those of training if only the test is asked for.
struct Files {
  fs::path folder;
  std::optional<ImageFile> train;
  ImageFile test;

  std::vector<std::uint8_t> labels(std::string_view part, const ImageFile& of) const;
};

Files open_files(const DataOptions& options, bool test_only) {
  const fs::path folder = data_folder(options);
  std::optional<ImageFile> train;
  if (!test_only) train = open_images(find_file(folder, "train-images-idx3-ubyte"));
  Files files{folder, train, open_images(find_file(folder, "t10k-images-idx3-ubyte"))};
  const ImageFile& test = files.test;
  if (train && (train->height() != test.height() || train->width() != test.width()))
    test.file->fail(fmt::format("images are {} x {}, but {} x {} in {}", test.height(),
                                test.width(), train->height(), train->width(),
                                train->file->name()));
  return files;
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

std::vector<std::uint8_t> Files::labels(std::string_view part, const ImageFile& of) const {
  return read_labels(find_file(folder, fmt::format("{}-labels-idx1-ubyte", part)), of.count());
}

Examples label_examples(const ImageFile& images, const std::vector<std::uint8_t>& labels,
                        Rows rows) {
  std::vector<std::uint8_t> y;
  for (const std::int32_t row : rows) y.push_back(labels[std::size_t(row)]);
  Columns x = in_memory(*images.file, rows);
  x.scale = kGreyScale;
  return {std::int64_t(rows.size()), std::move(x), {std::move(y), 1, 1}};
}

// Pictures whose first `upper` pixels are x and whose others are y.
DataSet load_cut(const DataOptions& options, const Files& files, std::int64_t upper,
                 std::string_view what) {
  DataSet data;
  if (files.train) {
    const Split split = split_rows(files.train->count(), options);
    data.train = cut_halves(*files.train, split.train, upper);
    data.valid = cut_halves(*files.train, split.valid, upper);
    if (options.binarize == Binarize::once)
      binarize(data.train, split.train, options.seed, kTrainPart);
    if (options.binarize != Binarize::none)
      binarize(data.valid, split.valid, options.seed, kTrainPart);
  }
  const auto test_rows = all_rows(limited(files.test.count(), options.test_limit));
  data.test = cut_halves(files.test, test_rows, upper);
  if (options.binarize != Binarize::none) binarize(data.test, test_rows, options.seed, kTestPart);
  data.binarize_train = options.binarize == Binarize::epoch;
  data.name = fmt::format("{} {}, {}", options.set, what,
                          options.binarize == Binarize::none   ? "grey"
                          : options.binarize == Binarize::once ? "binarised once"
                                                               : "binarised again each epoch");
  data.D_in = upper;
  data.D_out = files.test.size() - upper;
  data.output = Output::bernoulli;
  return data;
}

}  // namespace

DataSet load_halves(const DataOptions& options, bool test_only) {
  const Files files = open_files(options, test_only);
  const std::int64_t height = files.test.height(), width = files.test.width();
  if (height < 2) throw DataError(files.folder.string() + ": images of one row have no halves");
  DataSet data = load_cut(options, files, height / 2 * width, "halves");
  data.x_image = {height / 2, width};
  data.y_image = {height - height / 2, width};
  data.y_below_x = true;
  return data;
}

DataSet load_whole(const DataOptions& options, bool test_only) {
  const Files files = open_files(options, test_only);
  DataSet data = load_cut(options, files, 0, "generated");
  data.y_image = {files.test.height(), files.test.width()};
  return data;
}

DataSet load_classes(const DataOptions& options, bool test_only) {
  const Files files = open_files(options, test_only);
  const ImageFile& test = files.test;
  DataSet data;
  data.name = options.set + " classes";
  if (files.train) {
    const Split split = split_rows(files.train->count(), options);
    const auto labels = files.labels("train", *files.train);
    data.train = label_examples(*files.train, labels, split.train);
    data.valid = label_examples(*files.train, labels, split.valid);
  }
  data.test = label_examples(test, files.labels("t10k", test),
                             all_rows(limited(test.count(), options.test_limit)));
  data.D_in = test.size();
  data.D_out = kMnistClasses;
  data.output = Output::softmax;
  data.x_image = {test.height(), test.width()};
  return data;
}

}  // namespace sfnn
