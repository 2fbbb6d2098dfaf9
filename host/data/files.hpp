// A user's own data: inputs and targets for training and for the test, four files of which each is
// .npy or IDX, one example per row. An example may be a picture: [count, height, width].
//
// Floats and integers are used as they are. Unsigned bytes are grey values, divided by 255, unless
// the training file has none above 1: then they are bits. Classes are whole numbers from 0.
#pragma once

#include <filesystem>

#include "host/data/bytes.hpp"
#include "host/data/dataset.hpp"

namespace sfnn {

// Throws DataError naming the file and what is wrong with it.
DataSet load_files(const DataOptions&);

// Inputs without targets, from such a file: rows of D_in numbers in any shape, bytes encoded like
// the training inputs, so that a row means the same whatever the others are. Throws DataError.
Columns read_inputs(const std::filesystem::path&, std::int64_t D_in, ByteEncoding);

}  // namespace sfnn
