#include "kernels/tree_sum.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace sfnn {
namespace {

// What is added to what, written out.
struct Term {
  std::string text;
  friend Term operator+(const Term& a, const Term& b) {
    return {"(" + a.text + "+" + b.text + ")"};
  }
};

Term walked(std::int64_t count, std::int64_t places) {
  std::vector<Term> waiting(kMaxTreeHeight + 1);
  walk_tree(
      count, places, [&](std::int64_t i, int slot) { waiting.at(slot) = {std::to_string(i)}; },
      [&](int slot) { waiting.at(slot) = waiting.at(slot) + waiting.at(slot + 1); });
  return waiting[0];
}

// The definition: halves of the places, those without tiles left out.
std::optional<Term> sum_of(std::int64_t first, std::int64_t size, std::int64_t tiles,
                           std::int64_t places, std::int64_t& part) {
  if (size == 1) {
    const bool empty = tiles * first / places == tiles * (first + 1) / places;
    return empty ? std::nullopt : std::optional(Term{std::to_string(part++)});
  }
  const auto left = sum_of(first, size / 2, tiles, places, part);
  const auto right = sum_of(first + size / 2, size / 2, tiles, places, part);
  if (!left || !right) return left ? left : right;
  return *left + *right;
}

TEST(TreeSum, IsTheTreeOverPlacesThatHaveTiles) {
  for (const std::int64_t places : {1, 2, 4, 8, 16, 64, 1024}) {
    for (std::int64_t tiles = 1; tiles <= std::min<std::int64_t>(places, 70) + 3; ++tiles) {
      std::int64_t parts = 0;
      const auto expected = sum_of(0, places, tiles, places, parts);
      ASSERT_EQ(parts, std::min(places, tiles));
      const Term actual = walked(parts, places);
      EXPECT_EQ(actual.text, expected->text) << tiles << " tiles, " << places << " places";
    }
  }
}

TEST(TreeSum, OfAPowerOfTwoIsBalancedWhateverThePlaces) {
  for (const std::int64_t places : {4, 8, 512}) {
    const Term sum = walked(4, places);
    EXPECT_EQ(sum.text, "((0+1)+(2+3))");
  }
}

TEST(TreeSum, AddsElementsOfParts) {
  const std::vector<float> data = {1e8f, 1, -1e8f, 2, 3, 4};  // three parts of two
  const Parts parts{data.data(), 3, 2, 4};                    // at places 1, 2 and 3
  EXPECT_EQ(part_sum(parts, 0), 1e8f + (-1e8f + 3.0f));
  EXPECT_EQ(part_sum(parts.from(1), 0), 1.0f + (2.0f + 4.0f));
}

}  // namespace
}  // namespace sfnn
