// The sum of a step's parts, by a fixed binary tree.
//
// A step has P = 2^k places for parts, and its T tiles are dealt out to them in order: place p gets
// tiles T p / P up to T (p + 1) / P. Places without tiles are left out: a node with one empty child
// is its other child. The tree depends on T and P alone, so that the sum of any subtree can be made
// anywhere, by any thread or machine, and all of them agree to the last bit.
#pragma once

#include <cstdint>

#include "kernels/hd.hpp"

namespace sfnn {

// Sums of a step's gradient; only places with tiles are stored, one after another.
struct Parts {
  const float* data = nullptr;         // [count, stride]
  std::int64_t count = 1, stride = 0;  // parts that have tiles: min(P, T)
  std::int64_t places = 1;             // P, a power of two

  SFNN_HD Parts from(std::int64_t offset) const { return {data + offset, count, stride, places}; }
};

constexpr int kMaxTreeHeight = 20;
constexpr std::int64_t kMaxParts = std::int64_t(1) << kMaxTreeHeight;

// The place of the i-th part that has tiles.
SFNN_HD std::int64_t place_of(std::int64_t i, std::int64_t count, std::int64_t places) {
  return count == places ? i : (places * (i + 1) + count - 1) / count - 1;
}

// How far above the leaves the two places meet: 1 for neighbours with a common parent.
SFNN_HD int meeting_height(std::int64_t a, std::int64_t b) {
  int height = 0;
  for (std::uint64_t differ = std::uint64_t(a ^ b); differ; differ >>= 1) ++height;
  return height;
}

// Walks the tree over `count` parts in their order with a stack of sums that wait for their
// neighbour: push(i, slot) puts part i into a slot of the stack, merge(slot) adds the slot above to
// it. In the end slot 0 holds the sum. No two sums wait at the same height, so one bit each tells
// which heights are taken.
template <class Push, class Merge>
SFNN_HD void walk_tree(std::int64_t count, std::int64_t places, const Push& push,
                       const Merge& merge) {
  int top = 0;
  std::uint32_t heights = 0;  // at which the waiting sums will meet their neighbours
  for (std::int64_t i = 0; i < count; ++i) {
    push(i, top++);
    const int next =
        i + 1 < count ? meeting_height(place_of(i, count, places), place_of(i + 1, count, places))
                      : kMaxTreeHeight + 1;
    const std::uint32_t below = (std::uint32_t(1) << next) - 1;  // what meets there is complete
    for (; (heights & below) != 0; heights &= heights - 1) merge(--top - 1);
    heights |= std::uint32_t(1) << next;
  }
}

// Element e of the parts' sum.
SFNN_HD float part_sum(const Parts& parts, std::int64_t e) {
  if (parts.count == 1) return parts.data[e];
  float waiting[kMaxTreeHeight + 1];
  walk_tree(
      parts.count, parts.places,
      [&](std::int64_t i, int slot) { waiting[slot] = parts.data[i * parts.stride + e]; },
      [&](int slot) { waiting[slot] += waiting[slot + 1]; });
  return waiting[0];
}

}  // namespace sfnn
