// What looks like a mistake in the targets: a sentence each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/data/dataset.hpp"

namespace sfnn {

// - a class from 0 to K - 1 that no training example has;
// - a given sigma far from the standard deviation of the targets: one that is wider explains
//   nothing, and next to one that is narrower by far the first steps are too long.
// sigma: what net.sigma gives; none: it is not given.
std::vector<std::string> target_warnings(const DataSet&, std::optional<double> sigma);

}  // namespace sfnn
