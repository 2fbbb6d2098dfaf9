#include "host/formats/png_reader.hpp"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>

#include "host/base/error.hpp"
#include "host/base/utf8.hpp"
#include "host/formats/atomic_file.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxPixelBytes = std::uint64_t(64) << 20;
constexpr std::size_t kMaxFileBytes = std::size_t(256) << 20;
constexpr std::uint64_t kMaxExpansion = 1032 * 8;  // of deflate, with one bit per pixel

struct Reading {  // frees what libpng holds, also if something is thrown
  ~Reading() { png_image_free(&image); }
  png_image image{};
};

std::vector<fs::path> files_in(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path)) {
    std::string ending = entry.path().extension().string();
    std::ranges::transform(ending, ending.begin(), [](char c) { return char(std::tolower(c)); });
    if (ending == ".png") files.push_back(entry.path());
  }
  if (files.empty())
    throw DataError(fmt::format("{}: is a folder without .png files", path.string()));
  std::ranges::sort(files);
  return files;
}

std::string size_of(const Picture& picture) {
  return fmt::format("{} x {} {}", picture.height, picture.width,
                     picture.channels == 3 ? "in colour" : "grey");
}

}  // namespace

Picture parse_png(std::span<const std::byte> bytes, std::string_view name) {
  const auto refuse = [&](std::string_view why) {
    throw DataError(fmt::format("{}: is not a sound PNG picture: {}", name,
                                is_printable_utf8(std::string(why)) ? why : "damaged"));
  };
  Reading reading;
  png_image& png = reading.image;
  png.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_memory(&png, bytes.data(), bytes.size())) refuse(png.message);
  png.format = png.format & PNG_FORMAT_FLAG_COLOR ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  const std::int64_t channels = png.format == PNG_FORMAT_RGB ? 3 : 1;
  const std::uint64_t pixels = std::uint64_t(png.height) * png.width;
  if (pixels > kMaxPixelBytes / std::uint64_t(channels)) refuse("it is too large");
  if (pixels > bytes.size() * kMaxExpansion) refuse("it ends too early");
  Picture picture{png.height, png.width, {}, channels};
  picture.pixels.resize(std::size_t(pixels) * std::size_t(channels));
  const png_color black{};
  if (!png_image_finish_read(&png, &black, picture.pixels.data(), /*row_stride=*/0,
                             /*colormap=*/nullptr))
    refuse(png.message);
  return picture;
}

ArrayFile open_png(const fs::path& path) {
  std::vector<std::uint8_t> pixels;
  std::string first_size;
  std::vector<std::int64_t> shape;
  const std::vector<fs::path> files = files_in(path);
  for (const fs::path& file : files) {
    const std::string bytes = read_file(file, kMaxFileBytes);
    const Picture picture = parse_png(std::as_bytes(std::span(bytes)), file.string());
    if (shape.empty()) {
      first_size = size_of(picture);
      shape = {std::int64_t(files.size()), picture.height, picture.width};
      if (picture.channels == 3) shape.push_back(3);
    }
    if (size_of(picture) != first_size)
      throw DataError(fmt::format("{}: is {}, and {} is {}: all must be alike", file.string(),
                                  size_of(picture), files[0].filename().string(), first_size));
    pixels.insert(pixels.end(), picture.pixels.begin(), picture.pixels.end());
  }
  return {std::make_shared<MemorySource>(path.string(), std::move(pixels)),
          {.type = NumberType::u8, .shape = shape}};
}

}  // namespace sfnn
