// The names of an enum's values: one table each, read in both directions.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sfnn {

template <class E>
struct Named {
  E value;
  std::string_view name;
};
template <class E, std::size_t count>
using Names = std::array<Named<E>, count>;

template <class E, std::size_t count>
constexpr std::string_view name_in(const Names<E, count>& names, E value) {
  for (const auto& row : names)
    if (row.value == value) return row.name;
  return "?";
}

template <class E, std::size_t count>
constexpr std::optional<E> value_in(const Names<E, count>& names, std::string_view name) {
  for (const auto& row : names)
    if (row.name == name) return row.value;
  return std::nullopt;
}

template <class E, std::size_t count>
std::vector<std::string> names_of(const Names<E, count>& names) {
  std::vector<std::string> words;
  for (const auto& row : names) words.emplace_back(row.name);
  return words;
}

}  // namespace sfnn
