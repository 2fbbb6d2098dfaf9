// The command line. Only here are errors printed and exit codes chosen:
// 0 done, 1 failed, 2 usage, config or a missing file, 3 stopped by a signal with the state saved.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

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
#include "host/app/refusals.hpp"
#include "host/base/error.hpp"
#include "host/data/search_path.hpp"
#include "host/run/session.hpp"

namespace sfnn {
namespace {

int run_command_line(int argc, char** argv) {
  CLI::App app("sfnn trains feedforward networks whose hidden units are binary and random.",
               "sfnn");
  app.footer(exit_codes());
  app.set_version_flag("--version", "sfnn " + program_version());
  app.require_subcommand(0, 1);  // a second name is an argument: a run may be called demo
  int code = kDone;
  for (const auto add_command :
       {add_train_command, add_sweep_command, add_eval_command, add_sample_command,
        add_predict_command, add_play_command, add_report_command, add_tensorboard_command,
        add_estimators_command, add_info_command, add_data_command, add_devices_command,
        add_completion_command, add_man_command, add_demo_command}) {
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
