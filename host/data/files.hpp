// A user's own data: inputs and targets for training and for the test, four files of which each is
// .npy or IDX, an example a row. An example may be a picture: [count, height, width].
//
// Floats and integers are taken as they are. Unsigned bytes are grey values, 255 for one, unless
// the training file has none above 1: then they are bits. Classes are whole numbers from 0.
#pragma once

#include "host/data/dataset.hpp"

namespace sfnn {

// Throws DataError naming the file and what is wrong with it.
DataSet load_files(const DataOptions&);

}  // namespace sfnn
