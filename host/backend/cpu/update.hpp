// The parameters' step, and the squares of their gradient.
#pragma once

#include "host/backend/backend.hpp"

namespace sfnn::cpu {

// Of runs first .. first + count (kSquareRun) alone; no result depends on how they are shared out.
void update(const UpdateArgs&, const Clock&, std::int64_t first, std::int64_t count);
void square_sums(const SquareSumsArgs&, std::int64_t first, std::int64_t count);

}  // namespace sfnn::cpu
