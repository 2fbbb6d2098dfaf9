// Pictures, and the grid that shows samples.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sfnn {

struct Picture {
  std::int64_t height = 0, width = 0;
  std::vector<std::uint8_t> pixels;  // [height, width, channels]; 0 black, 255 white
  std::int64_t channels = 1;         // 3: red, green, blue

  std::uint8_t& at(std::int64_t y, std::int64_t x, std::int64_t channel = 0) {
    return pixels[(y * width + x) * channels + channel];
  }
  std::uint8_t at(std::int64_t y, std::int64_t x, std::int64_t channel = 0) const {
    return pixels[(y * width + x) * channels + channel];
  }
};

bool is_png(std::string_view bytes);                           // by its signature
std::string encode_png(const Picture&);                        // throws Error
void write_png(const std::filesystem::path&, const Picture&);  // atomically; throws Error

// A pixel that is hidden from the network: shown in a shade of its own.
constexpr float kMaskedPixel = -1;

// Rows of equal cells, as in the paper's Figure 2: the original, the input with the target masked,
// and samples. Thin lines separate the cells; a wider gap separates what was given from what was
// drawn.
class SampleGrid {
 public:
  // The first `given` cells of each row stand left of the gap.
  SampleGrid(std::int64_t cell_height, std::int64_t cell_width, int given = 2,
             int magnification = 2, std::int64_t channels = 1);

  // Each cell [cell_height, cell_width, channels] in [0, 1], or kMaskedPixel. Every row has as many
  // cells as the first.
  void add_row(std::span<const std::vector<float>> cells);

  Picture render() const;

 private:
  std::int64_t cell_height_, cell_width_;
  std::int64_t given_, magnification_, channels_;
  std::int64_t columns_ = 0;
  std::vector<std::vector<float>> cells_;  // row by row
};

}  // namespace sfnn
