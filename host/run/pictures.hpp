// Sample grids as in the paper's Figure 2: an example, the part of it that the network was given,
// and what the network makes of that.
#pragma once

#include <cstdint>

#include "host/data/dataset.hpp"
#include "host/formats/png.hpp"
#include "host/model/model.hpp"

namespace sfnn {

struct PictureOptions {
  std::int64_t rows = 10;     // test examples
  std::int64_t samples = 10;  // draws of the hidden units for each
  std::int64_t first = 0;     // the first test example shown
  bool draw_pixels = false;   // Bernoulli: pixels drawn as bits, else their probabilities
};

bool can_show(const DataSet&);  // are its targets pictures?

// Throws ConfigError if the data set has no pictures.
GreyImage sample_picture(const Model&, const DataSet&, std::uint64_t seed, const PictureOptions&);

}  // namespace sfnn
