#include "host/run/config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "host/base/error.hpp"
#include "host/base/utf8.hpp"
#include "host/formats/atomic_file.hpp"
#include "host/run/nearest_key.hpp"
#include "host/run/option_types.hpp"

namespace sfnn {
namespace {

constexpr std::size_t kMaxConfigBytes = 64 * 1024;
constexpr std::ptrdiff_t kMaxDots = 2000;

template <class T>
using TypeOf = OptionType<std::remove_cvref_t<T>>;

std::string_view section_of(std::string_view key) {
  const std::size_t dot = key.find('.');
  return dot == std::string_view::npos ? std::string_view() : key.substr(0, dot);
}

std::string_view name_of(std::string_view key) { return key.substr(key.find('.') + 1); }

// Calls f(value, allowed) for the option of that key; false: there is none.
template <class F>
bool with_option(Config& config, std::string_view wanted, F&& f) {
  bool found = false;
  Config::visit(config,
                [&](std::string_view key, auto& value, std::string_view, const Allowed& allowed) {
                  if (key != wanted) return;
                  found = true;
                  f(value, allowed);
                });
  return found;
}

// --- messages ----------------------------------------------------------------------------------

std::string shortened(std::string_view text) {
  constexpr std::size_t kShown = 60;
  return text.size() <= kShown ? std::string(text) : std::string(text.substr(0, kShown)) + "...";
}

[[noreturn]] void refuse_key(std::string_view where, std::string_view key) {
  const std::string nearest = nearest_key(key.substr(0, 80));
  throw ConfigError(fmt::format("{}unknown key '{}': {}", where, shortened(key),
                                nearest.empty() ? "sfnn train --help lists them"
                                                : fmt::format("did you mean '{}'?", nearest)));
}

[[noreturn]] void refuse_value(std::string_view where, std::string_view key, std::string_view value,
                               std::string_view expected) {
  throw ConfigError(fmt::format("{}{} = {}: must be {}", where, key, shortened(value), expected));
}

// --- reading -----------------------------------------------------------------------------------

template <class T>
void assign(std::string_view where, std::string_view key, std::string_view text,
            const Allowed& allowed, T& value) {
  std::optional<T> parsed;
  try {
    parsed = TypeOf<T>::parse(text, allowed);
  } catch (const ConfigError& e) {
    throw ConfigError(fmt::format("{}{}: {}", where, key, e.what()));
  }
  if (!parsed) refuse_value(where, key, text, TypeOf<T>::expected(allowed));
  value = *std::move(parsed);
}

// A TOML value as one would write it after --set.
std::string plain_text(const toml::node& node) {
  if (const auto* array = node.as_array()) {
    std::string list;
    for (const toml::node& item : *array) append_item(list, ",", plain_text(item));
    return list;
  }
  if (const auto value = node.value_exact<std::string_view>()) return std::string(*value);
  if (const auto value = node.value_exact<std::int64_t>()) return fmt::format("{}", *value);
  if (const auto value = node.value_exact<double>()) return OptionType<double>::text(*value);
  if (const auto value = node.value_exact<bool>()) return OptionType<bool>::text(*value);
  return node.is_table() ? "a table" : "a date or time";
}

void assign(Config& config, std::string_view file, std::string_view key, const toml::node& node) {
  const std::string where = fmt::format("{}:{}: ", file, node.source().begin.line);
  const bool found = with_option(config, key, [&](auto& value, const Allowed& allowed) {
    if (!TypeOf<decltype(value)>::reads(node)) {
      const std::string shown = node.is_string() ? toml_quoted(plain_text(node)) : plain_text(node);
      refuse_value(where, key, shown, TypeOf<decltype(value)>::expected(allowed));
    }
    assign(where, key, plain_text(node), allowed, value);
  });
  if (!found) refuse_key(where, key);
}

bool is_section(std::string_view name) {
  bool found = false;
  const Config defaults;
  Config::visit(defaults, [&](std::string_view key, const auto&, std::string_view, const Allowed&) {
    found |= section_of(key) == name;
  });
  return found;
}

// Refuses what no config needs: each dot of a key nests one more table, which toml++ walks by
// recursion, and in_ascii cannot read strings of several lines.
void check_text(std::string_view text, std::string_view name) {
  if (text.size() > kMaxConfigBytes)
    throw ConfigError(fmt::format("{}: {} bytes are too many for a config", name, text.size()));
  if (std::count(text.begin(), text.end(), '.') > kMaxDots)
    throw ConfigError(
        fmt::format("{}: more than {} dots are too many for a config", name, kMaxDots));
  for (const char* quotes : {"\"\"\"", "'''"}) {
    if (text.find(quotes) != std::string_view::npos)
      throw ConfigError(fmt::format("{}: strings in {} are not read", name, quotes));
  }
}

// Position in a line of TOML. Keys and values are treated alike.
struct Place {
  char quote = 0;  // the quote of the open string
  bool escaped = false, comment = false;

  void pass(char ch) {
    if (ch == '\n') {
      *this = {};
    } else if (escaped) {
      escaped = false;
    } else if (quote != 0) {
      escaped = quote == '"' && ch == '\\';
      if (ch == quote) quote = 0;
    } else if (!comment) {
      if (ch == '"' || ch == '\'') quote = ch;
      comment = ch == '#';
    }
  }
};

// The same TOML in ASCII: other characters become escapes in "...", are removed from comments, and
// are refused elsewhere. toml++ 3.3 has undefined behaviour when it asks whether some of them are
// spaces, and only its own parser knows when it will ask: it must see none of them.
std::string in_ascii(std::string_view text, std::string_view name) {
  std::string ascii;
  Place place;
  for (std::size_t i = 0; i < text.size();) {
    const auto refuse = [&](const char* why) {
      const auto line = 1 + std::count(text.begin(), text.begin() + i, '\n');
      throw ConfigError(fmt::format("{}:{}: {}", name, line, why));
    };
    const auto [point, length] = utf8_char(text, i);
    if (length == 0) refuse("this is not UTF-8 text");
    if (length == 1) {
      place.pass(text[i]);
      ascii += text[i];
    } else if (!place.comment) {
      if (place.quote != '"' || place.escaped)
        refuse("a character beyond ASCII needs double quotes");
      ascii += fmt::format("\\U{:08X}", point);
    }
    i += length;
  }
  return ascii;
}

}  // namespace

Config from_toml(std::string_view text, std::string_view name) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // some editors put it first
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  check_text(text, name);
  Config config;
  try {
    const toml::table root = toml::parse(in_ascii(text, name));
    for (const auto& [key, node] : root) {
      const toml::table* section = is_section(key.str()) ? node.as_table() : nullptr;
      if (section == nullptr) {
        assign(config, name, key.str(), node);
        continue;
      }
      for (const auto& [inner, value] : *section)
        assign(config, name, fmt::format("{}.{}", key.str(), inner.str()), value);
    }
  } catch (const toml::parse_error& e) {
    throw ConfigError(fmt::format("{}:{}: {}", name, e.source().begin.line, e.description()));
  }
  return config;
}

Config load_config(const std::filesystem::path& path) {
  try {
    return from_toml(read_file(path, kMaxConfigBytes), path.string());
  } catch (const DataError& e) {
    throw ConfigError(e.what());
  }
}

void apply_setting(Config& config, std::string_view setting) {
  const std::size_t equals = setting.find('=');
  if (equals == std::string_view::npos)
    throw ConfigError(fmt::format("'{}' is not a setting: write key=value", shortened(setting)));
  const std::string_view key = setting.substr(0, equals), text = setting.substr(equals + 1);
  const bool found = with_option(config, key, [&]<class T>(T& value, const Allowed& allowed) {
    constexpr bool is_text = std::is_same_v<T, std::string>;  // a name may have quotes of its own
    assign("", key, is_text ? text : without_quotes(text), allowed, value);
  });
  if (!found) refuse_key("", key);
}

Config changed(Config config, const std::vector<std::string>& settings) {
  for (const std::string& setting : settings) apply_setting(config, setting);
  config.validate();
  return config;
}

// --- writing -----------------------------------------------------------------------------------

std::string to_toml(const Config& config) {
  std::string text;
  std::string_view section;
  Config::visit(
      config, [&](std::string_view key, const auto& value, std::string_view help, const Allowed&) {
        if (section_of(key) != section) {
          section = section_of(key);
          text += fmt::format("\n[{}]\n", section);
        }
        text += fmt::format(
            "{:<32}# {}\n",
            fmt::format("{} = {}", name_of(key), TypeOf<decltype(value)>::toml(value)), help);
      });
  return text;
}

// What TOML calls a number, a string or a list of strings, JSON does, too.
std::string to_json(const Config& config) {
  std::string text;
  Config::visit(
      config, [&](std::string_view key, const auto& value, std::string_view, const Allowed&) {
        append_item(text, ",", fmt::format("\"{}\":{}", key, TypeOf<decltype(value)>::toml(value)));
      });
  return fmt::format("{{{}}}", text);
}

namespace {

// Choices that the help text does not name itself.
template <class T>
std::string choices_in_help(const T&) {
  if (std::is_same_v<T, bool> || std::is_same_v<T, Estimator>) return "";
  const std::vector<std::string> choices = OptionType<T>::choices();
  return choices.empty() ? "" : fmt::format(" ({})", fmt::join(choices, " | "));
}

}  // namespace

std::string config_help() {
  std::string text;
  const Config defaults;
  Config::visit(defaults, [&](std::string_view key, const auto& value, std::string_view help,
                              const Allowed&) {
    text += fmt::format("  {:<28} {}{}\n",
                        fmt::format("{}={}", key, TypeOf<decltype(value)>::text(value)), help,
                        choices_in_help(value));
  });
  return text;
}

std::vector<ConfigOption> config_options() {
  std::vector<ConfigOption> options;
  const Config defaults;
  Config::visit(defaults, [&](std::string_view key, const auto& value, std::string_view help,
                              const Allowed&) {
    using Type = TypeOf<decltype(value)>;
    options.push_back({std::string(key), Type::text(value), std::string(help), Type::choices()});
  });
  return options;
}

// --- comparing ---------------------------------------------------------------------------------

std::vector<std::pair<std::string_view, std::string>> key_texts(const Config& config) {
  std::vector<std::pair<std::string_view, std::string>> texts;
  Config::visit(config,
                [&](std::string_view key, const auto& value, std::string_view, const Allowed&) {
                  texts.emplace_back(key, TypeOf<decltype(value)>::text(value));
                });
  return texts;
}

std::vector<std::string> differences(const Config& a, const Config& b) {
  std::vector<std::string> lines;
  const auto of_a = key_texts(a), of_b = key_texts(b);
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    if (of_a[i] != of_b[i])
      lines.push_back(
          fmt::format("{}: {} against {}", of_a[i].first, of_a[i].second, of_b[i].second));
  }
  return lines;
}

Config with_schedule_of(Config config, const Config& other) {
  TrainOptions& own = config.train;
  const TrainOptions& train = other.train;
  own.epochs = train.epochs;
  own.learning_rate = train.learning_rate;
  own.schedule = train.schedule;
  own.warmup_epochs = train.warmup_epochs;
  own.warmup_steps = train.warmup_steps;
  own.step_epochs = train.step_epochs;
  own.step_factor = train.step_factor;
  own.patience = train.patience;
  return config;
}

std::uint64_t config_hash(const Config& config) {
  std::uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a
  for (const auto& [key, text] : key_texts(config)) {
    for (const char ch : fmt::format("{}={}\n", key, text))
      hash = (hash ^ static_cast<unsigned char>(ch)) * 0x100000001B3u;
  }
  return hash;
}

// --- meaning -----------------------------------------------------------------------------------

void Config::validate() const {
  // The data decide the widths of input and output; any value will do here.
  const NetworkSpec network{
      .D_in = 1, .hidden = net.hidden, .D_out = 1, .output = Output::bernoulli};
  sfnn::validate(train, network);
  require(eval.weights == EvalWeights::trained || train.ema > 0,
          "eval.weights = average: no average is kept; set train.ema, to 0.999 say");
  if (eval.as_stochastic) {
    try {
      as_stochastic(network);
    } catch (const ConfigError& e) {
      throw ConfigError(fmt::format("eval.as_stochastic = true: {}", e.what()));
    }
  }
  require(eval.select != Select::nll_proposal || train.proposal.on,
          "eval.select = nll_proposal: there is no R; set proposal.on = true");
}

}  // namespace sfnn
