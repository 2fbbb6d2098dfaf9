// A user who does not wait for a run to stop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/program.hpp"

namespace sfnn {
namespace {

using Signals = Program;

// A step of many seconds: the first signal waits for its end, the second does not.
// It is sent until it is heard: the thread sanitizer keeps signals back while the program computes,
// and of two alike only one.
TEST_F(Signals, TheSecondSignalEndsTheProgramAtOnce) {
  const std::string options =
      "--set net.hidden=1500s,1500s --set train.batch=4000 --set train.particles=100 --set "
      "train.epochs=2 ";
  const Result result =
      run("train " + options +
          "--out here & pid=$!; while [ ! -s here/sessions.jsonl ]; do sleep 0.01; done; sleep "
          "0.3; kill -TERM $pid; sleep 0.5; kill -0 $pid || exit 99; begin=$(date +%s%N); "
          "(while kill -TERM $pid; do sleep 0.2; done) 2>/dev/null & wait $pid; code=$?; "
          "end=$(date +%s%N); echo took $(((end - begin) / 1000000)); exit $code; #");
  EXPECT_EQ(result.code, 143) << result.out;
  const std::size_t took = result.out.find("took ");
  ASSERT_NE(took, std::string::npos) << result.out;
  // A step of this size takes half a minute and more; a loaded machine needs some seconds to take
  // down the memory.
  EXPECT_LT(std::stol(result.out.substr(took + 5)), 10000) << "milliseconds";
  EXPECT_EQ(RunDirectory(directory_ / "here").config().train.batch, 4000) << "the run is whole";
}

}  // namespace
}  // namespace sfnn
