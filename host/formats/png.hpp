// Grey pictures, and the grid that shows samples.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sfnn {

struct GreyImage {
  std::int64_t height = 0, width = 0;
  std::vector<std::uint8_t> pixels;  // [height, width]; 0 black, 255 white

  std::uint8_t& at(std::int64_t y, std::int64_t x) { return pixels[y * width + x]; }
  std::uint8_t at(std::int64_t y, std::int64_t x) const { return pixels[y * width + x]; }
};

bool is_png(std::string_view bytes);                             // by its signature
std::string encode_png(const GreyImage&);                        // throws Error
void write_png(const std::filesystem::path&, const GreyImage&);  // atomically; throws Error

// A pixel that is hidden from the network: shown in a shade of its own.
constexpr float kMaskedPixel = -1;

// Rows of equal cells, as in the paper's Figure 2: the original, the input with the target masked,
// and samples. Thin lines separate the cells; a wider gap separates what was given from what was
// drawn.
class SampleGrid {
 public:
  // The first `given` cells of each row stand left of the gap.
  SampleGrid(std::int64_t cell_height, std::int64_t cell_width, int given = 2,
             int magnification = 2);

  // Each cell [cell_height, cell_width] in [0, 1], or kMaskedPixel. Every row has as many cells as
  // the first.
  void add_row(std::span<const std::vector<float>> cells);

  GreyImage render() const;

 private:
  std::int64_t cell_height_, cell_width_;
  std::int64_t given_, magnification_;
  std::int64_t columns_ = 0;
  std::vector<std::vector<float>> cells_;  // row by row
};

}  // namespace sfnn
