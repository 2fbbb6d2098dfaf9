// What the benchmarks share: exit codes, and the JSON file that each can leave.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "host/base/error.hpp"

namespace sfnn::bench {

// Calls work() with the command line parsed. Exit codes are those of `sfnn`: 0 done, 1
// failed, 2 usage or config.
template <class Work>
int run_program(const char* name, CLI::App& app, int argc, char** argv, const Work& work) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;  // --help is no error
  }
  try {
    work();
    return 0;
  } catch (const ConfigError& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return 1;
  }
}

// An empty path: no file. A path that cannot be written is known before minutes are spent; what is
// there already stays until there is something to put in its place.
class JsonFile {
 public:
  explicit JsonFile(const std::string& path) : path_(path) {
    if (!path_.empty() && !std::ofstream(path_, std::ios::app)) fail();
  }
  void write(const nlohmann::ordered_json& value) const {
    if (path_.empty()) return;
    std::ofstream file(path_);
    file << value.dump(2) << "\n";
    file.close();
    if (!file) fail();
  }

 private:
  [[noreturn]] void fail() const { throw Error("cannot write " + path_); }

  std::string path_;
};

}  // namespace sfnn::bench
