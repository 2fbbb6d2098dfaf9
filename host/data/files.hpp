// A user's own data: inputs and targets for training and for the test, four files, each of any data
// format (host/formats/data_formats.hpp), one example per row. An example may be a picture: [count,
// height, width].
//
// Files of more than data.most_in_memory stay where they are. Either way one pass over the rows
// that are used, and no others, checks them. (Of classes every training row is read: their number
// must not depend on data.limit.)
//
// Floats and integers are used as they are. What unsigned bytes are is said by data.bytes or, if it
// says nothing, by the training file (see bytes.hpp). Classes are whole numbers from 0.
#pragma once

#include <filesystem>

#include "host/data/bytes.hpp"
#include "host/data/dataset.hpp"

namespace sfnn {

// Throws DataError naming the file and what is wrong with it.
DataSet load_files(const DataOptions&);
// The test files alone.
DataSet load_test_files(const DataOptions&, const TrainedOn&);

struct ReadInputs {
  Columns x;
  std::string warning;  // bytes that look as if they meant something else; empty: none
};

// Inputs without targets, from such a file: rows of D_in numbers in any shape, bytes encoded like
// the training inputs, so that a row means the same whatever the others are. Throws DataError.
ReadInputs read_inputs(const std::filesystem::path&, std::int64_t D_in, ByteEncoding);

}  // namespace sfnn
