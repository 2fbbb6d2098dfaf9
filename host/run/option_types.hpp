// The types an option's value may have, one struct each: how it is read from the command line and
// TOML, how it is written, and how to describe what is allowed. For config.cpp alone.
//
//   text(value)           as --set takes it; parse gives the same value back
//   parse(text, allowed)  nothing: not of this type, or not allowed
//   expected(allowed)     "a whole number from 1 to 100"
//   choices()             what it may be, if it is one of a few words
//   reads(node)           is the TOML value of a kind that this type understands?
//   toml(value)           as a config file has it
#pragma once

// toml++ asserts something about its input before it checks it: with its parser compiled here, a
// malformed time must give an error and not an abort.
#define TOML_ASSERT(expr) static_assert(true)

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/names.hpp"
#include "host/base/utf8.hpp"
#include "host/data/targets.hpp"
#include "host/run/config.hpp"

namespace sfnn {

inline bool within(double value, const Allowed& allowed) {
  return std::isfinite(value) && value >= allowed.low &&
         (allowed.high_open ? value < allowed.high : value <= allowed.high);
}

inline std::string range_text(const Allowed& allowed) {
  std::string text;
  if (std::isfinite(allowed.low)) text += fmt::format(" from {}", allowed.low);
  if (std::isfinite(allowed.high))
    text +=
        fmt::format(" {} {}", allowed.high_open ? "to below" : "to", std::int64_t(allowed.high));
  else if (std::isfinite(allowed.low))
    text += " up";
  return text;
}

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

inline std::string toml_quoted(std::string_view text) {
  std::string result = "\"";
  for (const char ch : text) {
    if (ch == '"' || ch == '\\') result += '\\';
    result += ch;
  }
  return result + '"';
}

inline void append_item(std::string& list, std::string_view separator, std::string_view item) {
  if (!list.empty()) list += separator;
  list += item;
}

// G5 of "G5": --set takes text as TOML has it, too.
inline std::string_view without_quotes(std::string_view text) {
  const bool quoted = text.size() >= 2 && text.front() == text.back() &&
                      (text.front() == '"' || text.front() == '\'');
  return quoted ? text.substr(1, text.size() - 2) : text;
}

// The items of a,b or, as TOML has it, ["a", "b"]; a shell may have taken the quotes away.
inline std::vector<std::string_view> list_items(std::string_view text) {
  const bool bracketed = text.size() >= 2 && text.front() == '[' && text.back() == ']';
  if (bracketed) text = text.substr(1, text.size() - 2);
  std::vector<std::string_view> items;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view item = text.substr(0, comma);
    while (bracketed && item.starts_with(' ')) item.remove_prefix(1);
    while (bracketed && item.ends_with(' ')) item.remove_suffix(1);
    items.push_back(without_quotes(item));
    if (comma + 1 == text.size() && !bracketed) items.emplace_back();  // "a,": an item is missing
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return items;
}

template <class T>
struct OptionType;

template <>
struct OptionType<bool> {
  static std::string text(bool value) { return value ? "true" : "false"; }
  static std::optional<bool> parse(std::string_view text, const Allowed&) {
    if (text == "true") return true;
    if (text == "false") return false;
    return std::nullopt;
  }
  static std::string expected(const Allowed&) { return "true or false"; }
  static std::vector<std::string> choices() { return {"true", "false"}; }
  static bool reads(const toml::node& node) { return node.is_boolean(); }
  static std::string toml(bool value) { return text(value); }
};

template <std::integral T>
struct OptionType<T> {
  static std::string text(T value) { return fmt::format("{}", value); }
  static std::optional<T> parse(std::string_view text, const Allowed& allowed) {
    // Signed even for T unsigned: TOML has no larger integers.
    const auto value = parse_number<std::int64_t>(text);
    if (!value || !std::in_range<T>(*value) || !within(double(*value), bounded(allowed)))
      return std::nullopt;
    return T(*value);
  }
  static std::string expected(const Allowed& allowed) {
    if (std::unsigned_integral<T>) return "a whole number from 0 to 2^63 - 1";
    return fmt::format("a whole number{}", range_text(bounded(allowed)));
  }
  static std::vector<std::string> choices() { return {}; }
  static bool reads(const toml::node& node) { return node.is_integer(); }
  static std::string toml(T value) { return text(value); }

 private:
  static Allowed bounded(Allowed allowed) {
    if (std::signed_integral<T>)
      allowed.high = std::min<double>(allowed.high, std::numeric_limits<std::int32_t>::max());
    return allowed;
  }
};

template <>
struct OptionType<double> {
  // The shortest digits that read back as the same number.
  static std::string text(double value) { return fmt::format("{}", value); }
  static std::optional<double> parse(std::string_view text, const Allowed& allowed) {
    const auto value = parse_number<double>(text);
    return value && within(*value, allowed) ? value : std::nullopt;
  }
  static std::string expected(const Allowed& allowed) {
    return fmt::format("a number{}", range_text(allowed));
  }
  static std::vector<std::string> choices() { return {}; }
  static bool reads(const toml::node& node) { return node.is_number(); }
  static std::string toml(double value) {
    std::string digits = text(value);
    return digits.find_first_of(".e") == std::string::npos ? digits + ".0" : digits;
  }
};

template <class T>
struct OptionType<std::optional<T>> {
  using Value = std::optional<T>;
  static std::string text(const Value& value) {
    return value ? OptionType<T>::text(*value) : "auto";
  }
  static std::optional<Value> parse(std::string_view text, const Allowed& allowed) {
    if (text == "auto") return std::optional<Value>(std::in_place);
    const auto value = OptionType<T>::parse(text, allowed);
    return value ? std::optional<Value>(value) : std::nullopt;
  }
  static std::string expected(const Allowed& allowed) {
    return fmt::format("auto or {}", OptionType<T>::expected(allowed));
  }
  static std::vector<std::string> choices() { return {}; }
  static bool reads(const toml::node& node) {
    return OptionType<T>::reads(node) || node.value<std::string_view>() == "auto";
  }
  static std::string toml(const Value& value) {
    return value ? OptionType<T>::toml(*value) : toml_quoted("auto");
  }
};

template <>
struct OptionType<std::string> {
  static std::string text(const std::string& value) { return value; }
  static std::optional<std::string> parse(std::string_view text, const Allowed&) {
    return is_printable_utf8(text) ? std::optional<std::string>(text) : std::nullopt;
  }
  static std::string expected(const Allowed&) { return "text without control characters"; }
  static std::vector<std::string> choices() { return {}; }
  static bool reads(const toml::node& node) { return node.is_string(); }
  static std::string toml(const std::string& value) { return toml_quoted(value); }
};

// One of a few names: rows of a table with a name and a value.
template <class T, const auto& rows, auto value_of>
struct NamedOption {
  static std::string text(T value) {
    for (const auto& row : rows)
      if (row.*value_of == value) return std::string(row.name);
    return "?";
  }
  static std::optional<T> parse(std::string_view text, const Allowed&) {
    for (const auto& row : rows)
      if (row.name == text) return row.*value_of;
    return std::nullopt;
  }
  static std::string expected(const Allowed&) {
    return fmt::format("one of {}", fmt::join(choices(), " | "));
  }
  static std::vector<std::string> choices() {
    std::vector<std::string> names;
    for (const auto& row : rows) names.emplace_back(row.name);
    return names;
  }
  static bool reads(const toml::node& node) { return node.is_string(); }
  static std::string toml(T value) { return toml_quoted(text(value)); }
};

template <>
struct OptionType<Estimator> : NamedOption<Estimator, kEstimators, &EstimatorRow::id> {};
template <>
struct OptionType<OptimizerKind> : NamedOption<OptimizerKind, kOptimizers, &OptimizerRow::id> {};
template <>
struct OptionType<Output> : NamedOption<Output, kTargetOutputs, &OutputRow::id> {};
template <HasNames E>
struct OptionType<E> : NamedOption<E, names_of(E()), &Named<E>::value> {};

// A number, or the word of a Gaussian in the table of outputs.
template <>
struct OptionType<Sigma> {
  static std::string text(const Sigma& sigma) {
    const std::string_view word = row_of(sigma.output).sigma;
    return word.empty() ? OptionType<double>::text(sigma.value) : std::string(word);
  }
  static std::optional<Sigma> parse(std::string_view text, const Allowed&) {
    for (const OutputRow& row : kOutputs)
      if (!row.sigma.empty() && row.sigma == text) return Sigma{.output = row.id};
    const auto value = OptionType<double>::parse(text, {.low = kLeastSigma, .high = kLargestSigma});
    return value ? std::optional(Sigma{.value = *value}) : std::nullopt;
  }
  static std::string expected(const Allowed&) {
    return fmt::format("a number above 0 or one of {}", fmt::join(words(), " | "));
  }
  static std::vector<std::string> choices() { return {}; }
  static bool reads(const toml::node& node) { return node.is_number() || node.is_string(); }
  static std::string toml(const Sigma& sigma) {
    return row_of(sigma.output).sigma.empty() ? OptionType<double>::toml(sigma.value)
                                              : toml_quoted(text(sigma));
  }

 private:
  static std::vector<std::string> words() {
    std::vector<std::string> words;
    for (const OutputRow& row : kOutputs)
      if (!row.sigma.empty()) words.emplace_back(row.sigma);
    return words;
  }
};

// Layers: a list of strings in TOML; on the command line, commas will do.
template <>
struct OptionType<std::vector<LayerSpec>> {
  using Value = std::vector<LayerSpec>;
  static std::string text(const Value& value) {
    std::string result;
    for (const LayerSpec& layer : value) append_item(result, ",", to_string(layer));
    return result;
  }
  static std::optional<Value> parse(std::string_view text, const Allowed&) {
    Value layers;
    for (const std::string_view item : list_items(text))
      layers.push_back(parse_layer(item));  // its own error says more
    return layers;
  }
  static std::string expected(const Allowed&) {
    return "a list of layers such as [\"200s\", \"40s+160d\"]";
  }
  static std::vector<std::string> choices() { return {}; }
  static bool reads(const toml::node& node) {
    const toml::array* array = node.as_array();
    return array != nullptr && std::all_of(array->begin(), array->end(),
                                           [](const toml::node& item) { return item.is_string(); });
  }
  static std::string toml(const Value& value) {
    std::string list;
    for (const LayerSpec& layer : value) append_item(list, ", ", toml_quoted(to_string(layer)));
    return fmt::format("[{}]", list);
  }
};

// Numbers: a list in TOML; on the command line, commas will do.
template <>
struct OptionType<std::vector<double>> {
  using Value = std::vector<double>;
  static std::string text(const Value& value) {
    std::string result;
    for (const double number : value) append_item(result, ",", OptionType<double>::text(number));
    return result;
  }
  static std::optional<Value> parse(std::string_view text, const Allowed& allowed) {
    Value numbers;
    for (const std::string_view item : list_items(text)) {
      const auto number = OptionType<double>::parse(item, allowed);
      if (!number) return std::nullopt;
      numbers.push_back(*number);
    }
    return numbers;
  }
  static std::string expected(const Allowed& allowed) {
    return fmt::format("a list of numbers{} such as [10, 15]", range_text(allowed));
  }
  static std::vector<std::string> choices() { return {}; }
  static bool reads(const toml::node& node) {
    const toml::array* array = node.as_array();
    return array != nullptr && std::all_of(array->begin(), array->end(),
                                           [](const toml::node& item) { return item.is_number(); });
  }
  static std::string toml(const Value& value) {
    std::string list;
    for (const double number : value) append_item(list, ", ", OptionType<double>::toml(number));
    return fmt::format("[{}]", list);
  }
};

}  // namespace sfnn
