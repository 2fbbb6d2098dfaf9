// Sample grids as in the paper's Figure 2: an example, the part of it that the network was given,
// and what the network makes of that.
#pragma once

#include <cstdint>
#include <sfnn/report.hpp>

#include "host/data/dataset.hpp"
#include "host/formats/png.hpp"
#include "host/model/model.hpp"

namespace sfnn {

bool can_show(const DataSet&);  // are its targets pictures?

// Throws ConfigError if the data set has no pictures. With R the hidden units are drawn given the
// target, too: what the network takes an example for, not what it predicts.
Picture sample_picture(const Model&, const DataSet&, std::uint64_t seed, const PictureOptions&,
                       const Model* R = nullptr);

}  // namespace sfnn
