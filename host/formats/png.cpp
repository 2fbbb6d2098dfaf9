#include "host/formats/png.hpp"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <cmath>

#include "host/base/error.hpp"
#include "host/formats/atomic_file.hpp"

namespace sfnn {
namespace {

constexpr std::int64_t kLine = 1, kGap = 6;  // in pixels of the picture, at any magnification
constexpr std::uint8_t kLineShade = 110, kMaskShade = 60, kGapShade = 255;

std::uint8_t shade(float value) {
  if (value == kMaskedPixel) return kMaskShade;
  return std::uint8_t(std::lround(255 * std::clamp(value, 0.0f, 1.0f)));
}

}  // namespace

bool is_png(std::string_view bytes) { return bytes.starts_with("\x89PNG\r\n\x1a\n"); }

std::string encode_png(const Picture& image) {
  if (image.height < 1 || image.width < 1 || image.height > PNG_USER_HEIGHT_MAX ||
      image.width > PNG_USER_WIDTH_MAX || (image.channels != 1 && image.channels != 3) ||
      std::int64_t(image.pixels.size()) != image.height * image.width * image.channels)
    throw ShapeError(
        fmt::format("a picture of {} x {} cannot be written", image.height, image.width));
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = png_uint_32(image.width);
  png.height = png_uint_32(image.height);
  png.format = image.channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  std::string bytes(PNG_IMAGE_PNG_SIZE_MAX(png), '\0');
  png_alloc_size_t size = bytes.size();
  if (!png_image_write_to_memory(&png, bytes.data(), &size, /*convert_to_8_bit=*/0,
                                 image.pixels.data(),
                                 /*row_stride=*/0, /*colormap=*/nullptr))
    throw Error(fmt::format("PNG: {}", png.message));
  bytes.resize(size);
  return bytes;
}

void write_png(const std::filesystem::path& path, const Picture& image) {
  write_file_atomically(path, encode_png(image));
}

SampleGrid::SampleGrid(std::int64_t cell_height, std::int64_t cell_width, int given,
                       int magnification, std::int64_t channels)
    : cell_height_(cell_height),
      cell_width_(cell_width),
      given_(given),
      magnification_(magnification),
      channels_(channels) {
  if (cell_height < 1 || cell_width < 1 || given < 0 || magnification < 1 || channels < 1)
    throw ShapeError("a sample grid needs cells of at least one pixel");
}

void SampleGrid::add_row(std::span<const std::vector<float>> cells) {
  const auto columns = std::int64_t(cells.size());
  const bool fits = columns > 0 && (columns_ == 0 || columns == columns_) &&
                    std::all_of(cells.begin(), cells.end(), [&](const std::vector<float>& cell) {
                      return std::int64_t(cell.size()) == cell_height_ * cell_width_ * channels_;
                    });
  if (!fits) throw ShapeError("a row of the sample grid does not fit");
  columns_ = columns;
  cells_.insert(cells_.end(), cells.begin(), cells.end());
}

Picture SampleGrid::render() const {
  if (cells_.empty()) throw ShapeError("a sample grid without rows");
  const std::int64_t rows = std::int64_t(cells_.size()) / columns_;
  const std::int64_t pitch_y = cell_height_ * magnification_ + kLine;
  const std::int64_t pitch_x = cell_width_ * magnification_ + kLine;
  const bool gap = given_ > 0 && given_ < columns_;
  Picture image{
      rows * pitch_y + kLine, columns_ * pitch_x + kLine + (gap ? kGap + kLine : 0), {}, channels_};
  image.pixels.assign(image.height * image.width * channels_, kLineShade);
  if (gap) {
    for (std::int64_t y = 0; y < image.height; ++y)
      std::fill_n(&image.at(y, given_ * pitch_x + kLine), kGap * channels_, kGapShade);
  }
  for (std::int64_t cell = 0; cell < std::int64_t(cells_.size()); ++cell) {
    const std::int64_t column = cell % columns_;
    const std::int64_t top = cell / columns_ * pitch_y + kLine;
    const std::int64_t left =
        column * pitch_x + kLine + (gap && column >= given_ ? kGap + kLine : 0);
    for (std::int64_t y = 0; y < cell_height_ * magnification_; ++y) {
      for (std::int64_t x = 0; x < cell_width_ * magnification_; ++x) {
        const std::int64_t pixel = y / magnification_ * cell_width_ + x / magnification_;
        for (std::int64_t c = 0; c < channels_; ++c)
          image.at(top + y, left + x, c) = shade(cells_[cell][pixel * channels_ + c]);
      }
    }
  }
  return image;
}

}  // namespace sfnn
