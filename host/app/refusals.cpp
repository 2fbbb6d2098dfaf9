#include "host/app/refusals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/base/error.hpp"
#include "host/base/nearest.hpp"
#include "host/run/nearest_key.hpp"

namespace sfnn {
namespace {

using Alias = std::pair<std::string_view, std::string_view>;

// What other programs call our commands and options.
constexpr Alias kCommandAliases[] = {
    {"fit", "train"},       {"test", "eval"},    {"infer", "predict"}, {"inference", "predict"},
    {"generate", "sample"}, {"show", "info"},    {"plot", "report"},   {"download", "data"},
    {"fetch", "data"},      {"gpus", "devices"}, {"help", "--help"},   {"version", "--version"}};
constexpr Alias kOptionAliases[] = {
    {"output", "out"},      {"output-dir", "out"},      {"save-dir", "out"}, {"o", "out"},
    {"workers", "threads"}, {"num-workers", "threads"}, {"v", "verbose"},    {"V", "version"},
    {"gpu", "device cuda"}, {"cuda", "device cuda"}};

template <std::size_t size>
std::string alias_of(std::string_view typed, const Alias (&aliases)[size]) {
  const auto found = std::ranges::find(aliases, typed, &Alias::first);
  return found == std::end(aliases) ? "" : std::string(found->second);
}

// The command that was called, or the program itself.
const CLI::App& called(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  return commands.empty() ? app : *commands.front();
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name()
                                     : app.get_parent()->get_name() + " " + app.get_name();
}

std::string nearest_command(const CLI::App& app, const std::string& typed) {
  for (const CLI::App* command : app.get_subcommands(/*filter=*/{})) {
    const std::string& name = command->get_name();
    if (is_near(typed, name) || (name.size() > 3 && typed.starts_with(name))) return name;
  }
  return alias_of(typed, kCommandAliases);
}

bool has_option(const CLI::App& command, const std::string& name) {
  return command.get_option_no_throw("--" + name.substr(0, name.find(' '))) != nullptr;
}

// Is it a key's own name, so that nothing else can have been meant?
bool is_named(const std::string& key, const std::string& word) {
  return key == word || key.ends_with("." + word);
}

// "--epochs 3" is "--set train.epochs=3"; what only measures means eval's keys before training's.
std::string meant_by(const CLI::App& command, const std::string& option, const std::string& value) {
  const std::string flag = option.substr(std::min(option.find_first_not_of('-'), option.size()));
  const std::string alias = alias_of(flag, kOptionAliases);
  if (!alias.empty() && has_option(command, alias)) return "--" + alias;
  std::string word = flag;
  std::ranges::replace(word, '-', '_');
  const bool trains = command.get_name() == "train" || command.get_name() == "sweep";
  const std::string key =
      has_option(command, "set") ? nearest_key((trains ? "train." : "eval.") + word) : "";
  for (const CLI::Option* known : command.get_options()) {
    if (!is_named(key, word) && !known->get_lnames().empty() &&
        is_near(flag, known->get_lnames()[0]))
      return "--" + known->get_lnames()[0];
  }
  return key.empty() ? "" : fmt::format("--set {}={}", key, value.empty() ? "VALUE" : value);
}

}  // namespace

void refuse_extras(const CLI::App& app, int argc, char** argv) {
  const CLI::App& command = called(app);
  const std::vector<std::string> extra = app.remaining(/*recurse=*/true);
  const std::vector<std::string> typed(argv + 1, argv + argc);  // CLI11 has them in reverse
  const auto first = std::ranges::find_if(
      typed, [&](const std::string& word) { return std::ranges::count(extra, word) > 0; });
  const std::string word = first == typed.end() ? extra.at(0) : *first;
  const auto guess = [](const std::string& meant, const std::string& otherwise) {
    return meant.empty() ? otherwise : fmt::format("did you mean '{}'?", meant);
  };
  const std::string help = fmt::format("{} --help lists them", full_name(command));
  if (&command == &app && !word.starts_with('-')) {
    throw ConfigError(
        fmt::format("unknown command '{}': {}", word, guess(nearest_command(app, word), help)));
  }
  if (!word.starts_with('-'))
    throw ConfigError(fmt::format("{} does not take '{}'", full_name(command), word));
  const std::size_t equals = word.find('=');
  std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
  const bool has_next = first != typed.end() && first + 1 != typed.end();
  if (equals == std::string::npos && has_next && !(first + 1)->starts_with("--"))
    value = *(first + 1);
  throw ConfigError(fmt::format("unknown option '{}': {}", word.substr(0, equals),
                                guess(meant_by(command, word.substr(0, equals), value), help)));
}

void refuse(const CLI::App& app, const CLI::ParseError& error) {
  std::string message = error.what();
  std::ranges::replace(message, '\n', ' ');
  throw ConfigError(fmt::format("{} ({} --help says more)", message, full_name(called(app))));
}

}  // namespace sfnn
