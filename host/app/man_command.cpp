// Manual pages, made from the same tables as --help: what can be typed is described.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <sstream>

#include "host/app/command_line.hpp"
#include "host/app/commands.hpp"
#include "host/base/error.hpp"
#include "host/formats/atomic_file.hpp"
#include "host/run/session.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

// As roff must have it: hyphens that can be copied, and no line that begins as a request does.
std::string roff(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    const bool begins = result.empty() || result.back() == '\n';
    if (begins && (letter == '.' || letter == '\'')) result += "\\&";
    if (letter == '\\') {
      result += "\\e";
    } else if (letter == '-') {
      result += "\\-";
    } else {
      result += letter;
    }
  }
  return result;
}

// "sfnn-train", the name of a command's page, or "sfnn".
std::string page_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name()
                                     : app.get_parent()->get_name() + "-" + app.get_name();
}

// "--threads INT"; positional arguments have only their name.
std::string option_head(const CLI::Option& option) {
  std::string head;
  for (const std::string& name : option.get_snames()) head += fmt::format("-{}, ", name);
  for (const std::string& name : option.get_lnames()) head += fmt::format("--{}, ", name);
  head = head.empty() ? option.get_single_name() : head.substr(0, head.size() - 2);
  const bool takes_value = option.get_items_expected_max() > 0 && !option.get_lnames().empty();
  return takes_value ? head + " " + option.get_type_name() : head;
}

std::string option_text(const CLI::Option& option) {
  std::string text =
      fmt::format(".TP\n.B {}\n{}", roff(option_head(option)), roff(option.get_description()));
  if (!option.get_default_str().empty())
    text += fmt::format(" (default {})", roff(option.get_default_str()));
  if (!option.get_envname().empty())
    text += fmt::format(" (or the variable {})", roff(option.get_envname()));
  return text + "\n";
}

std::string options_text(const CLI::App& app, bool positional) {
  std::string text;
  for (const CLI::Option* option : app.get_options())
    if (option->get_positional() == positional) text += option_text(*option);
  return text;
}

// The footer of a help text: "Examples:" and "Config keys:" become headings, their indented lines
// stay as they are.
std::string footer_text(const std::string& footer) {
  std::string text;
  bool verbatim = false;
  std::istringstream lines(footer);
  for (std::string line; std::getline(lines, line);) {
    const bool indented = line.starts_with("  ");
    if (indented != verbatim && !line.empty()) {
      text += indented ? ".nf\n" : ".fi\n";
      verbatim = indented;
    }
    const std::size_t colon = line.find(':');
    if (indented) {
      text += roff(line.substr(2)) + "\n";
    } else if (colon != std::string::npos) {
      text += fmt::format(".SH {}\n", roff(line.substr(0, colon)));
      if (colon + 2 < line.size()) text += roff(line.substr(colon + 2)) + "\n";
    }
  }
  return verbatim ? text + ".fi\n" : text;
}

std::string page(CLI::App& app) {
  const std::string name = page_name(app);
  const bool is_program = app.get_parent() == nullptr;
  std::string text = fmt::format(".TH {} 1 \"\" \"sfnn {}\" \"User Commands\"\n", roff(name),
                                 roff(program_version()));
  text += fmt::format(".SH NAME\n{} \\- {}\n", roff(name), roff(app.get_description()));
  text += fmt::format(".SH SYNOPSIS\n.B {}\n",
                      roff(is_program ? "sfnn COMMAND" : "sfnn " + app.get_name()));
  for (const CLI::Option* option : app.get_options())
    if (option->get_positional()) text += fmt::format(".I {}\n", roff(option->get_single_name()));
  text += "[\\fIOPTION\\fR]...\n";
  if (is_program) {
    text += ".SH COMMANDS\n";
    for (const CLI::App* command : app.get_subcommands(/*filter=*/{}))
      text += fmt::format(".TP\n.BR {} (1)\n{}\n", roff(page_name(*command)),
                          roff(command->get_description()));
  }
  const std::string arguments = options_text(app, /*positional=*/true);
  if (!arguments.empty()) text += ".SH ARGUMENTS\n" + arguments;
  text += ".SH OPTIONS\n" + options_text(app, /*positional=*/false);
  text += footer_text(app.get_footer());
  return is_program ? text : text + ".SH SEE ALSO\n.BR sfnn (1)\n";
}

void write_pages(CLI::App& app, const fs::path& folder) {
  make_directories(folder);
  write_output(folder / "sfnn.1", page(app));
  for (CLI::App* command : app.get_subcommands(/*filter=*/{}))
    write_output(folder / (page_name(*command) + ".1"), page(*command));
}

struct ManCommand {
  std::string about, out;
};

int run_man(CLI::App& app, const ManCommand& command) {
  if (!command.out.empty()) {
    write_pages(app, command.out);
    return kDone;
  }
  if (command.about.empty()) {
    fmt::print("{}", page(app));
    return kDone;
  }
  for (CLI::App* about : app.get_subcommands(/*filter=*/{})) {
    if (about->get_name() != command.about) continue;
    fmt::print("{}", page(*about));
    return kDone;
  }
  throw ConfigError(fmt::format("unknown command '{}': sfnn --help lists them", command.about));
}

}  // namespace

void add_man_command(CLI::App& app, int& code) {
  CLI::App* sub = app.add_subcommand("man", "Print the manual page of a command");
  const auto command = std::make_shared<ManCommand>();
  CLI::Option* about = sub->add_option("command", command->about, "Command; none: the program");
  sub->add_option("--out", command->out, "Folder to write all pages to, as sfnn-COMMAND.1")
      ->check(not_empty())
      ->excludes(about);
  sub->footer(examples("  sfnn man train | man -l -\n  sfnn man --out ~/.local/share/man/man1"));
  sub->callback([&app, command, &code] { code = run_man(app, *command); });
}

}  // namespace sfnn
