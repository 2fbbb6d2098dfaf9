// How long a step of small launches takes: a model of what the roofline leaves out. The roofline
// asks for bytes and operations at peak rates; here a launch also waits for the one before it,
// starts, fills only as many multiprocessors as it has blocks, and waits for its loads.
//
// The constants stay as they are, so that forecasts of two versions can be compared; what changes
// with the code is each launch's Spread (counting_backend.cpp).
#pragma once

#include <vector>

#include "bench/lib/predicted_step.hpp"

namespace sfnn::bench {

// Assumed, the same for every GPU, and not measured by us: what profilers commonly show between
// dependent nodes of a graph, for a kernel that does nothing, and for a launch on the host's side.
constexpr double kNodeGap = 1.2e-6;
constexpr double kKernelStart = 1.0e-6;
constexpr double kHostLaunch = 2.5e-6;
// A trip's cycles: a hit in the second-level cache takes 260 to 275 (arXiv 2402.13499, table 4:
// A100, H100, RTX 4090); as much again is assumed for the queues before it and the arithmetic
// behind it.
constexpr double kTripCycles = 500;

// One launch, without the gap before it: never less than its roofline.
double forecast(const Launch&, const Gpu&);
// The multiprocessors that it keeps busy, of all.
double share_of_device(const Launch&, const Gpu&);

// A recorded step: launches one after another.
double forecast(const std::vector<Launch>&, const Gpu&);
// The same launch by launch: the host's pace or the device's, whichever is slower.
double forecast_eager(const std::vector<Launch>&, const Gpu&);

}  // namespace sfnn::bench
