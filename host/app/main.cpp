// The command line. Only here are errors printed and exit codes chosen:
// 0 done, 1 failed, 2 usage, config or a missing file, 3 stopped by a signal with the state saved.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <system_error>

#include "host/app/command_line.hpp"
#include "host/app/commands.hpp"
#include "host/base/error.hpp"
#include "host/base/nearest.hpp"
#include "host/data/search_path.hpp"
#include "host/run/nearest_key.hpp"
#include "host/run/session.hpp"

namespace sfnn {
namespace {

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
  return "";
}

// "--epochs 3" is "--set train.epochs=3".
std::string meant_by(const CLI::App& command, const std::string& option, const std::string& value) {
  std::string word = option.substr(std::min(option.find_first_not_of('-'), option.size()));
  const std::string flag = word;
  std::ranges::replace(word, '-', '_');
  std::string key = nearest_key(word);
  if (command.get_option_no_throw("--set") == nullptr) key.clear();
  const bool exact = key == word || key.ends_with("." + word);
  for (const CLI::Option* known : command.get_options()) {
    if (!exact && !known->get_lnames().empty() && is_near(flag, known->get_lnames()[0]))
      return "--" + known->get_lnames()[0];
  }
  return key.empty() ? "" : fmt::format("--set {}={}", key, value.empty() ? "VALUE" : value);
}

// Arguments that no option has taken, in the order in which they were typed.
[[noreturn]] void refuse_extras(const CLI::App& app, int argc, char** argv) {
  const CLI::App& command = called(app);
  const std::vector<std::string> extra = app.remaining(/*recurse=*/true);
  const std::vector<std::string> typed(argv + 1, argv + argc);
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

// In our form: one line, and where to read on.
[[noreturn]] void refuse(const CLI::App& app, const CLI::ParseError& error) {
  std::string message = error.what();
  std::ranges::replace(message, '\n', ' ');
  throw ConfigError(fmt::format("{} ({} --help says more)", message, full_name(called(app))));
}

int run_command_line(int argc, char** argv) {
  CLI::App app("sfnn trains feedforward networks whose hidden units are binary and random.",
               "sfnn");
  app.footer(exit_codes());
  app.set_version_flag("--version", "sfnn " + program_version());
  int code = kDone;
  for (const auto add_command :
       {add_train_command, add_sweep_command, add_eval_command, add_sample_command,
        add_predict_command, add_report_command, add_estimators_command, add_info_command,
        add_data_command, add_devices_command, add_completion_command, add_demo_command}) {
    add_command(app, code);
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::ExtrasError&) {
    refuse_extras(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // help or version
    refuse(app, error);
  }
  if (app.get_subcommands().empty()) {
    std::fputs(app.help().c_str(), stderr);
    return kUsage;
  }
  return code;
}

// Printed text may still be buffered, and the disk may be full.
void require_printed() {
  errno = 0;
  if (std::cout.flush() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  throw Error(errno == 0 ? "some of the output could not be written"
                         : fmt::format("the output cannot be written: {}",
                                       std::generic_category().message(errno)));
}

// If the caller closed fd 0, 1 or 2, the next open() would reuse it and printed text would land in
// that file: fill them with /dev/null.
bool occupy_closed_outputs() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) != fd) return false;
  }
  return true;
}

// fmt::print would throw if stderr cannot be written, and nothing is left to catch it.
int failed(int code, const std::string& message) {
  std::fprintf(stderr, "sfnn: %s\n", message.c_str());
  return code;
}

}  // namespace
}  // namespace sfnn

int main(int argc, char** argv) {
  using namespace sfnn;
  if (!occupy_closed_outputs()) return kFailed;  // no output to report it on
  // A file size limit or a closed pipe is to be an error of the write, not a deadly signal.
  for (const int signal : {SIGXFSZ, SIGPIPE}) std::signal(signal, SIG_IGN);
  try {
    const int code = run_command_line(argc, argv);
    if (code != kStopped) require_printed();  // a closed terminal may be what stopped it
    return code;
  } catch (const ConfigError& error) {
    return failed(kUsage, error.what());
  } catch (const MissingFileError& error) {
    return failed(kUsage, error.what());
  } catch (const std::bad_alloc&) {
    return failed(kFailed, "out of memory");
  } catch (const std::filesystem::filesystem_error& error) {
    return failed(kFailed, fmt::format("{}: {}", Error::without_controls(error.path1().string()),
                                       error.code().message()));
  } catch (const std::exception& error) {
    return failed(kFailed, error.what());
  }
}
