#include "host/formats/png.hpp"

#include <gtest/gtest.h>
#include <png.h>

#include "host/base/error.hpp"
#include "host/formats/atomic_file.hpp"
#include "tests/support/temporary_directory.hpp"

namespace sfnn {
namespace {

// As libpng reads it, and with what the file says of itself.
Picture decode(const std::string& bytes) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  EXPECT_TRUE(png_image_begin_read_from_memory(&png, bytes.data(), bytes.size())) << png.message;
  EXPECT_EQ(png.format, PNG_FORMAT_GRAY);
  Picture image{png.height, png.width, std::vector<std::uint8_t>(png.height * png.width)};
  EXPECT_TRUE(png_image_finish_read(&png, nullptr, image.pixels.data(), 0, nullptr)) << png.message;
  return image;
}

TEST(Png, EveryPixelComesBack) {
  Picture image{5, 256, {}};
  for (int i = 0; i < 5 * 256; ++i) image.pixels.push_back(std::uint8_t(i * 7));
  const TemporaryDirectory directory;
  write_png(directory.path() / "x.png", image);
  const Picture back = decode(read_file(directory.path() / "x.png", 1 << 20));
  EXPECT_EQ(back.height, 5);
  EXPECT_EQ(back.width, 256);
  EXPECT_EQ(back.pixels, image.pixels);
}

TEST(Png, ImpossiblePicturesAreRefused) {
  EXPECT_THROW(encode_png({0, 0, {}}), ShapeError);
  EXPECT_THROW(encode_png({2, 2, {1, 2, 3}}), ShapeError);
  EXPECT_THROW(encode_png({1, 2'000'000'000, {}}), ShapeError);
}

TEST(SampleGrid, PlacesCellsLinesAndGap) {
  // Two rows of three cells of 1 x 2 pixels, one of the cells given, each pixel 2 x 2 in the
  // picture.
  SampleGrid grid(1, 2, /*given=*/1, /*magnification=*/2);
  grid.add_row(std::vector<std::vector<float>>{{0, 1}, {0.5f, kMaskedPixel}, {2, -3}});
  grid.add_row(std::vector<std::vector<float>>{{1, 1}, {1, 1}, {0, 0}});
  const Picture image = grid.render();
  ASSERT_EQ(image.height, 1 + 2 + 1 + 2 + 1);
  ASSERT_EQ(image.width, 1 + 4 + 1 + 6 + 1 + 4 + 1 + 4 + 1);
  const int line = image.at(0, 0), gap = image.at(0, 6);
  EXPECT_NE(line, gap);
  const int mask = image.at(1, 15);
  const std::vector<int> row = {line, 0,   0,   255,  255,  line, gap, gap, gap, gap, gap, gap,
                                line, 128, 128, mask, mask, line, 255, 255, 0,   0,   line};
  for (std::int64_t x = 0; x < image.width; ++x) {
    EXPECT_EQ(image.at(1, x), row[x]) << x;
    EXPECT_EQ(image.at(2, x), row[x]) << x;
    EXPECT_EQ(image.at(3, x), x >= 6 && x < 12 ? gap : line) << x;
  }
  EXPECT_EQ(image.at(4, 1), 255);
  EXPECT_EQ(image.at(5, 21), 0);
}

TEST(SampleGrid, NoGapWhereNothingIsGiven) {
  SampleGrid grid(1, 1, /*given=*/0, /*magnification=*/1);
  grid.add_row(std::vector<std::vector<float>>{{0}, {1}});
  EXPECT_EQ(grid.render().width, 5);
}

TEST(SampleGrid, RowsThatDoNotFitAreRefused) {
  SampleGrid grid(1, 2);
  EXPECT_THROW(grid.render(), ShapeError);
  EXPECT_THROW(grid.add_row({}), ShapeError);
  EXPECT_THROW(grid.add_row(std::vector<std::vector<float>>{{0}}), ShapeError);
  grid.add_row(std::vector<std::vector<float>>{{0, 1}, {0, 1}});
  EXPECT_THROW(grid.add_row(std::vector<std::vector<float>>{{0, 1}}), ShapeError);
}

}  // namespace
}  // namespace sfnn
