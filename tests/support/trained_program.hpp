// The program, for tests of commands that look at what was trained.
#pragma once

#include <string>

#include "host/formats/atomic_file.hpp"
#include "tests/support/program.hpp"

namespace sfnn {

class TrainedProgram : public Program {
 protected:
  void train(const std::string& name, const std::string& settings) {
    const Result result =
        run("train " + small_ + "--set train.epochs=2 " + settings + " --out " + name);
    ASSERT_EQ(result.code, 0) << result.out;
  }
  std::string file(const std::string& name) {
    return read_file(directory_ / name, std::size_t(1) << 26);
  }
};

}  // namespace sfnn
