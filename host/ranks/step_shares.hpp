// Which parts and rows of a step each rank takes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/tree_sum.hpp"

namespace sfnn {

struct IndexRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};

// Rank r of R takes places P r / R up to P (r + 1) / R of the tree: whole subtrees if R is a power
// of two, and few of them else.
struct StepShares {
  std::int64_t N = 0, tile = 1, places = 1;  // examples of the step, per tile; P
  int ranks = 1;

  std::int64_t tiles() const { return (N + tile - 1) / tile; }
  std::int64_t parts() const { return std::min(places, tiles()); }  // that have tiles

  IndexRange places_of(int rank) const {
    return {places * rank / ranks, places * (rank + 1) / ranks};
  }
  // Of the parts that have tiles, those with a place in the range.
  IndexRange parts_in(const IndexRange& range) const {
    return {parts() * range.begin / places, parts() * range.end / places};
  }
  IndexRange parts_of(int rank) const { return parts_in(places_of(rank)); }
  IndexRange tiles_of_part(std::int64_t part) const {
    return {tiles() * part / parts(), tiles() * (part + 1) / parts()};
  }
  IndexRange rows_of(int rank) const {
    const IndexRange own = parts_of(rank);
    return {std::min(N, tiles() * own.begin / parts() * tile),
            std::min(N, tiles() * own.end / parts() * tile)};
  }
  // No step with fewer examples gives the rank more parts.
  std::int64_t most_parts_of(int rank) const {
    return (parts() * places_of(rank).size() + places - 1) / places;
  }
};

// Calls f(parts) for each node of the tree whose leaves are a rank's and whose parent's are not
// all; nodes without parts are left out.
template <class F>
void for_each_node(const StepShares& shares, int rank, const F& f) {
  const IndexRange own = shares.places_of(rank);
  for (std::int64_t begin = own.begin; begin < own.end;) {
    std::int64_t width = 1;  // the largest subtree that begins here and ends within
    while (begin % (2 * width) == 0 && begin + 2 * width <= own.end) width *= 2;
    const IndexRange parts = shares.parts_in({begin, begin + width});
    if (parts.size() > 0) f(parts);
    begin += width;
  }
}

}  // namespace sfnn
