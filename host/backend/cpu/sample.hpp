// Drawing: hidden units, and the examples' own draws.
#pragma once

#include "host/backend/backend.hpp"
#include "kernels/philox.hpp"

namespace sfnn::cpu {

void sample_hidden(const SampleHiddenArgs&, const DrawKey&);
void gather(const GatherArgs&, const DrawKey& binarize, const DrawKey& noise, std::int64_t first);

}  // namespace sfnn::cpu
