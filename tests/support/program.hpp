// The program as a user calls it, in a directory of the test's own.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "host/run/checkpoint.hpp"
#include "host/run/run_directory.hpp"
#include "tests/support/temporary_directory.hpp"

namespace sfnn {

namespace fs = std::filesystem;

class Program : public testing::Test {
 protected:
  struct Result {
    int code;
    std::string out;  // stdout and stderr
  };
  Result run(const std::string& arguments, const std::string& environment = "") {
    const std::string command = "cd '" + directory_.string() + "'; " + environment +
                                " '" SFNN_PROGRAM "' " + arguments + " 2>&1";
    FILE* pipe = popen(command.c_str(), "r");
    std::string out;
    std::array<char, 4096> buffer;
    while (const std::size_t n = fread(buffer.data(), 1, buffer.size(), pipe))
      out.append(buffer.data(), n);
    const int status = pclose(pipe);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), out};
  }
  Checkpoint newest(const std::string& name) {
    return open_checkpoint(directory_ / name, /*best=*/false, [](const std::string&) {});
  }

  std::vector<std::string> step_files(const std::string& name) {  // oldest first
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory_ / name / "checkpoints")) {
      const std::string file = entry.path().filename().string();
      if (file.starts_with("step-")) names.push_back(file);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  const TemporaryDirectory temporary_;
  const fs::path directory_ = temporary_.path();
  const std::string small_ =
      "--set data.limit=400 --set data.valid=100 --set data.test_limit=60 --set net.hidden=20s,10s "
      "--set train.particles=4 --set eval.particles=10 ";
};

}  // namespace sfnn
