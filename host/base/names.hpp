// The names of an enum's values: one table each, read in both directions. An enum has names if
// names_of(E) gives its table:
//
//   enum class Fruit { apple, pear };
//   inline constexpr Names<Fruit, 2> kFruits{{{Fruit::apple, "apple"}, {Fruit::pear, "pear"}}};
//   constexpr const auto& names_of(Fruit) { return kFruits; }
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

template <class E>
concept HasNames = requires(E value) {
  names_of(value);
};

template <HasNames E>
constexpr std::string_view to_string(E value) {
  for (const Named<E>& row : names_of(value))
    if (row.value == value) return row.name;
  return "?";
}

template <HasNames E>
constexpr std::optional<E> from_string(std::string_view name) {
  for (const Named<E>& row : names_of(E()))
    if (row.name == name) return row.value;
  return std::nullopt;
}

template <HasNames E>
std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const Named<E>& row : names_of(E())) names.emplace_back(row.name);
  return names;
}

}  // namespace sfnn
