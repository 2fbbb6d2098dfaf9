// Completion scripts, made from the same tables that the command line is parsed by: what can be
// typed can be completed.
#include <fmt/format.h>

#include <memory>

#include "host/app/command_line.hpp"
#include "host/app/commands.hpp"
#include "host/devices/registry.hpp"
#include "host/run/config.hpp"

namespace sfnn {
namespace {

struct Flag {
  std::vector<std::string> names;  // with their dashes; none: a positional argument
  std::string help;
  bool takes_value = false;
  std::vector<std::string> choices;  // empty: any value, perhaps a file
  bool is_setting = false;           // its value is key=value
};

struct Command {
  std::string name, help;
  std::vector<Flag> flags;
};

// CLI11 shows the members of a set as {a,b,c} in the type's name.
std::vector<std::string> choices_in(const std::string& type) {
  const std::size_t open = type.find('{'), close = type.find('}');
  if (open == std::string::npos || close == std::string::npos) return {};
  return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

Flag flag_of(const CLI::Option& option) {
  Flag flag{.help = option.get_description(),
            .takes_value = option.get_items_expected_max() > 0,
            .choices = choices_in(option.get_type_name())};
  for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
  flag.is_setting = option.get_single_name() == "set" && !flag.names.empty();
  if (option.get_single_name() == "device") {
    flag.choices = {"auto"};
    for (const DeviceInfo& device : list_devices()) flag.choices.push_back(device.name);
  }
  return flag;
}

std::vector<Command> commands_of(CLI::App& app) {
  std::vector<Command> commands;
  for (CLI::App* sub : app.get_subcommands([](CLI::App*) { return true; })) {
    Command command{sub->get_name(), sub->get_description(), {}};
    for (const CLI::Option* option : sub->get_options()) command.flags.push_back(flag_of(*option));
    commands.push_back(std::move(command));
  }
  return commands;
}

std::string settings() {
  std::string values;
  for (const ConfigOption& key : config_options())
    for (const std::string& choice : key.choices) values += fmt::format("{}={} ", key.key, choice);
  return values;
}

std::string keys() {
  std::string text;
  for (const ConfigOption& key : config_options()) text += key.key + "= ";
  return text;
}

// --- bash --------------------------------------------------------------------------------------

// bash splits a word at '=' (unless told not to), so words are taken from the line itself, and
// everything before the last '=' is removed from the answers. --flag=value is completed as --flag
// value.
constexpr std::string_view kBash = R"(# bash completion of sfnn: source <(sfnn completion bash)
_sfnn_settings() {{
  candidates="{keys}"
  [[ $current == *=* ]] && candidates="{settings}"
}}
_sfnn_once() {{  # what may stand there once
  local word
  for word in $1; do [[ " ${{words[*]:2:${{#words[@]}}-3}} " == *" $word "* ]] && return; done
  candidates=$1
}}
_sfnn() {{
  local line=${{COMP_LINE:0:COMP_POINT}} words current previous command= candidates= flag=
  COMPREPLY=()
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  current=${{words[-1]}} previous=${{words[-2]-}}
  ((${{#words[@]}} > 2)) && command=${{words[1]}}
  if [[ $current == --*=* ]]; then
    previous=${{current%%=*}} current=${{current#*=}}
    [[ $COMP_WORDBREAKS == *=* ]] || flag=$previous=
  fi
  case $command:$previous in
    :*) candidates="{commands} --help --version" ;;
{values}  esac
  if [[ -z $candidates ]]; then
    case $command:$current in
{flags}    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$candidates" -- "$current")
  [[ ${{COMPREPLY[0]-}} == *= ]] && compopt -o nospace 2>/dev/null
  [[ $current == *=* && $COMP_WORDBREAKS == *=* ]] && COMPREPLY=("${{COMPREPLY[@]#"${{current%=*}}="}}")
  [[ -n $flag ]] && COMPREPLY=("${{COMPREPLY[@]/#/$flag}}")
  return 0
}}
complete -o default -F _sfnn sfnn
)";

std::string bash_script(const std::vector<Command>& commands) {
  std::vector<std::string> names, any_value;  // any_value: left to bash, which offers files
  std::string values, flags;
  for (const Command& command : commands) {
    names.push_back(command.name);
    std::string options;
    for (const Flag& flag : command.flags) {
      std::vector<std::string> after;  // COMMAND:PREVIOUS
      for (const std::string& name : flag.names) {
        options += name + " ";
        after.push_back(command.name + ":" + name);
      }
      const std::string choices = fmt::format("{}", fmt::join(flag.choices, " "));
      if (flag.names.empty()) {
        if (!flag.choices.empty())
          flags += fmt::format("      {}:|{}:[!-]*) _sfnn_once \"{}\" ;;\n", command.name,
                               command.name, choices);
      } else if (flag.is_setting) {
        values += fmt::format("    {}) _sfnn_settings ;;\n", fmt::join(after, "|"));
      } else if (flag.takes_value && flag.choices.empty()) {
        any_value.insert(any_value.end(), after.begin(), after.end());
      } else if (flag.takes_value) {
        values += fmt::format("    {}) candidates=\"{}\" ;;\n", fmt::join(after, "|"), choices);
      }
    }
    flags += fmt::format("      {}:-*) candidates=\"{}\" ;;\n", command.name, options);
  }
  values += fmt::format("    {}) return 0 ;;\n", fmt::join(any_value, "|"));
  return fmt::format(kBash, fmt::arg("commands", fmt::join(names, " ")), fmt::arg("values", values),
                     fmt::arg("flags", flags), fmt::arg("keys", keys()),
                     fmt::arg("settings", settings()));
}

// --- zsh ---------------------------------------------------------------------------------------

constexpr std::string_view kZsh = R"(#compdef sfnn
# zsh completion of sfnn: source <(sfnn completion zsh), or save it as _sfnn in a folder of $fpath
_sfnn_settings() {{
  if [[ $PREFIX == *=* ]]; then
    compadd -- {settings}
  else
    compadd -S '' -- {keys}
  fi
}}
_sfnn() {{
  local curcontext=$curcontext state line
  local -a commands=({commands})
  _arguments -C '--help[Print the help]' '--version[Print the version]' '1:command:->command' '*::argument:->argument'
  case $state in
    command) _describe command commands ;;
    argument)
      case $line[1] in
{cases}      esac ;;
  esac
}}
if [[ ${{funcstack[1]-}} == _sfnn ]]; then _sfnn "$@"; else compdef _sfnn sfnn; fi
)";

std::string quoted(const std::string& text, std::string_view to_escape) {
  std::string result;
  for (const char letter : text) {
    if (letter == '\'') {
      result += "'\\''";
      continue;
    }
    if (to_escape.find(letter) != std::string_view::npos) result += '\\';
    result += letter;
  }
  return result;
}

std::string zsh_action(const Flag& flag) {
  if (flag.is_setting) return ":setting:_sfnn_settings";
  if (!flag.takes_value) return "";
  return flag.choices.empty() ? ":value:_files"
                              : fmt::format(":value:({})", fmt::join(flag.choices, " "));
}

std::string zsh_script(const std::vector<Command>& commands) {
  std::string names, cases;
  for (const Command& command : commands) {
    names += fmt::format("'{}:{}' ", command.name, quoted(command.help, ":"));
    std::string specs;
    for (const Flag& flag : command.flags) {
      for (const std::string& name : flag.names)
        specs += fmt::format(" \\\n          '{}{}{}[{}]{}'", flag.is_setting ? "*" : "", name,
                             flag.takes_value && name.starts_with("--") ? "=" : "",
                             quoted(flag.help, "[]"), zsh_action(flag));
      if (flag.names.empty())
        specs += flag.choices.empty() ? " \\\n          '*:argument:_files'"
                                      : fmt::format(" \\\n          '1:argument:({})'",
                                                    fmt::join(flag.choices, " "));
    }
    cases += fmt::format("        {}) _arguments{} ;;\n", command.name, specs);
  }
  return fmt::format(kZsh, fmt::arg("settings", settings()), fmt::arg("keys", keys()),
                     fmt::arg("commands", names), fmt::arg("cases", cases));
}

}  // namespace

void add_completion_command(CLI::App& app, int& code) {
  const auto shell = std::make_shared<std::string>();
  auto* sub = app.add_subcommand("completion", "Print a completion script for a shell");
  sub->add_option("shell", *shell, "bash or zsh")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}));
  sub->footer(examples("  source <(sfnn completion bash)\n  sfnn completion zsh > ~/.zfunc/_sfnn"));
  sub->callback([&app, shell, &code] {
    const auto commands = commands_of(app);
    fmt::print("{}", *shell == "bash" ? bash_script(commands) : zsh_script(commands));
    code = kDone;
  });
}

}  // namespace sfnn
