// A data set out of arrays that a program has.
#pragma once

#include <sfnn/data.hpp>

#include "host/data/dataset.hpp"

namespace sfnn {

// What the arrays must hold is said in <sfnn/data.hpp>. Throws ConfigError, DataError.
DataSet data_of_arrays(const ArrayShape&, const Arrays& train, const Arrays& test,
                       const Arrays& valid);

}  // namespace sfnn
