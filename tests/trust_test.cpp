// Runs that can be trusted: the program under a second writer, a full disk, bad numbers, hostile
// files and impatient users.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "host/io/metrics.hpp"
#include "tests/support/program.hpp"

namespace sfnn {
namespace {

using Trust = Program;

// --- two writers -------------------------------------------------------------------------------

TEST_F(Trust, TwoRunsInOneDirectoryAreKeptApart) {
  const std::string options = small_ + "--set train.epochs=100000 --out here";
  const Result second =
      run("train " + options +
          " & pid=$!; while [ ! -e here/checkpoints/latest ]; do sleep 0.01; done; '" SFNN_PROGRAM
          "' train --resume --out here 2>&1; code=$?; kill -KILL $pid; wait $pid; exit $code; #");
  EXPECT_EQ(second.code, 2) << second.out;
  EXPECT_NE(second.out.find("here is in use by process"), std::string::npos) << second.out;
  // The killed one has left no lock behind.
  const Result third =
      run("train --resume --out here & pid=$!; sleep 0.5; kill -TERM $pid; wait $pid; exit $?; #");
  EXPECT_EQ(third.code, 3) << third.out;
}

TEST_F(Trust, SavesWithinAnEpochAndKeepsAsManyAsAsked) {
  ASSERT_EQ(run("train " + small_ +
                "--set train.batch=40 --set train.epochs=2 --set train.save_steps=3 "
                "--set train.keep=4 --out often")
                .code,
            0);
  std::vector<std::string> expected;  // of 3, 6, 9, 10; 12, 15, 18, 20
  for (const char* step : {"12", "15", "18", "20"})
    expected.push_back("step-000000" + std::string(step) + ".safetensors");
  EXPECT_EQ(step_files("often"), expected);
}

}  // namespace
}  // namespace sfnn
