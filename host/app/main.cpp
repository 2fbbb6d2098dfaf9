// The command line. Only here are errors printed and exit codes chosen:
// 0 done, 1 failed, 2 usage or config, 3 stopped by a signal with the state saved.
#include <fmt/format.h>

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
#include "host/app/session.hpp"
#include "host/backend/error.hpp"

namespace sfnn {
namespace {

int run_command_line(int argc, char** argv) {
  CLI::App app("sfnn trains feedforward networks whose hidden units are binary and random.",
               "sfnn");
  app.footer(exit_codes());
  app.set_version_flag("--version", "sfnn " + program_version());
  int code = kDone;
  for (const auto add_command :
       {add_train_command, add_eval_command, add_sample_command, add_predict_command,
        add_report_command, add_estimators_command, add_info_command, add_data_command,
        add_devices_command, add_completion_command, add_demo_command}) {
    add_command(app, code);
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUsage;
  }
  if (app.get_subcommands().empty()) {
    fmt::print(stderr, "{}", app.help());
    return kUsage;
  }
  return code;
}

// What was printed may still be on its way to a disk that is full.
void require_printed() {
  errno = 0;
  if (std::cout.flush() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  throw Error(fmt::format("the output cannot be written: {}",
                          std::generic_category().message(errno != 0 ? errno : EIO)));
}

}  // namespace
}  // namespace sfnn

int main(int argc, char** argv) {
  using namespace sfnn;
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes is an error of the write, not a death
  try {
    const int code = run_command_line(argc, argv);
    require_printed();
    return code;
  } catch (const ConfigError& error) {
    fmt::print(stderr, "sfnn: {}\n", error.what());
    return kUsage;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "sfnn: out of memory\n");
    return kFailed;
  } catch (const std::filesystem::filesystem_error& error) {
    fmt::print(stderr, "sfnn: {}: {}\n", without_controls(error.path1().string()),
               error.code().message());
    return kFailed;
  } catch (const std::exception& error) {
    fmt::print(stderr, "sfnn: {}\n", error.what());
    return kFailed;
  }
}
