// The weights that a network begins with: W ~ N(0, (scale * gain)^2 / fan-in) with the gain of the
// unit (kActivations), 1 for stochastic units and outputs; biases 0; rho such that a learnt or
// predicted sigma begins at the one that is given, the same for every example: a head of sigmas has
// weights of 0.
//
// A weight is a draw with an index (kernels/philox.hpp): seed, site, tensor, row and column decide
// it.
#pragma once

#include <cstdint>
#include <vector>

#include "host/backend/backend.hpp"
#include "host/model/network.hpp"
#include "kernels/philox.hpp"

namespace sfnn {

struct InitialWeights {
  std::uint64_t seed = 0;
  double scale = 1;
  double sigma = 1;
  std::uint32_t site = kSiteInitWeights;
};

std::vector<float> initial_params(const NetworkSpec&, std::uint64_t seed, double scale = 1.0,
                                  double sigma = 1.0, std::uint32_t site = kSiteInitWeights);

// The same into memory of a backend that is zero: [ParamLayout(spec).size]. Nothing of that size is
// held beside it; a backend on the host draws with all of its threads.
void draw_initial_params(Backend&, const NetworkSpec&, const InitialWeights&, float* params);

}  // namespace sfnn
