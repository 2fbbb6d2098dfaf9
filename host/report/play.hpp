// A page to play with a trained network in a browser: its weights and its arithmetic are inside, so
// that an input can be drawn and the answer changes at once. The parts that a browser reads are in
// host/report/play/.
#pragma once

#include <string>

#include "host/run/loaded_network.hpp"

namespace sfnn {

// Throws ConfigError if there is no way to enter an input, or if the weights are more than a page
// should hold.
std::string play_page(const std::string& name, const LoadedNetwork&);

}  // namespace sfnn
