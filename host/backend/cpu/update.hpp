// The parameters' step on a range of them.
#pragma once

#include "host/backend/backend.hpp"

namespace sfnn::cpu {

// Elements first .. first + count of the update; the sums do not depend on how it is cut.
void update(const UpdateArgs&, float learning_rate, std::int64_t first, std::int64_t count);

}  // namespace sfnn::cpu
