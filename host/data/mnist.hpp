// MNIST and its family: <root>/<set>/ holds train-images-idx3-ubyte, train-labels-idx1-ubyte and
// their t10k- twins, each plain or as .gz.
#pragma once

#include "host/data/dataset.hpp"

namespace sfnn {

constexpr std::int64_t kMnistClasses = 10;

// All read the rows that are used, and with test_only no training file.

// Predicts the lower half of a picture from its upper half.
DataSet load_halves(const DataOptions&, bool test_only = false);

// Draws whole pictures, given nothing.
DataSet load_whole(const DataOptions&, bool test_only = false);

// Predicts the label from all pixels.
DataSet load_classes(const DataOptions&, bool test_only = false);

}  // namespace sfnn
