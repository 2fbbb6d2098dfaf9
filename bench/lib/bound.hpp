// The least time that a step could take on this machine by the way in which it is computed: its
// arithmetic at the rate of dense products, or its memory traffic at the rate of a copy, whichever
// takes longer.
#pragma once

#include "bench/lib/workloads.hpp"

namespace sfnn::bench {

struct StepCosts {
  // Dense operations, as two for each multiply-add; a product with bits takes one addition for
  // five inputs, which takes as long as a multiply-add. Element-wise ones are the estimates of
  // CountingBackend.
  double operations = 0;
  // Parameters, velocity and gradient read and written once, and the batch read once.
  double bytes = 0;
};
// live_share: that of the particles in the backward products.
StepCosts costs_of(const Workload&, double live_share);

// Of the particles, one step on the workload's network.
double live_share(const Workload&);

// Bytes per second, read and written, of copies by so many threads of more than the caches hold.
double copy_rate(int threads);

}  // namespace sfnn::bench
