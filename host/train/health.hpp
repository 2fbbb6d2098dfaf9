// Signs that a stochastic network has stopped being one, or that its particles have stopped
// mattering. None of them stops a run: they may be what its user is after.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/train/activity.hpp"

namespace sfnn {

// A sentence each, the same from epoch to epoch while the sign lasts:
// - a layer's units are all but deterministic: nearly every p is decided;
// - most of a layer's units are saturated: decided the same way whatever the input;
// - the particles have collapsed: for every example one has all the weight.
// effective_particles: the mean over the epoch's examples, each between 1 and M.
std::vector<std::string> health_warnings(std::span<const LayerActivity>, double effective_particles,
                                         std::int64_t M);

}  // namespace sfnn
