// MNIST and its family: <root>/<set>/ holds train-images-idx3-ubyte, train-labels-idx1-ubyte and
// their t10k- twins, each plain or as .gz.
#pragma once

#include "host/data/dataset.hpp"

namespace sfnn {

constexpr std::int64_t kMnistClasses = 10;

// Predicts the lower half of a picture from its upper half.
DataSet load_halves(const DataOptions&);

// Predicts the label from all pixels.
DataSet load_classes(const DataOptions&);

}  // namespace sfnn
