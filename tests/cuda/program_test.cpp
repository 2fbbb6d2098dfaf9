// The program itself, linked to the simulator: what it says of devices and memory, and its exit
// codes.
#include "tests/support/program.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "host/run/metrics.hpp"

namespace sfnn {
namespace {

using testing::HasSubstr;
using testing::Not;

const char* const kTiny =
    "--set data.limit=30 --set data.test_limit=8 --set net.hidden=6s,5s --set train.batch=12 "
    "--set train.particles=2 --set train.epochs=2 --set eval.particles=3 ";

class CudaProgram : public Program {};

TEST_F(CudaProgram, TrainsAsOnTheCpu) {
  const Result gpu = run(std::string("train --device cuda --out gpu ") + kTiny);
  ASSERT_EQ(gpu.code, 0) << gpu.out;
  ASSERT_EQ(run(std::string("train --device cpu --out cpu ") + kTiny).code, 0);
  const auto a = newest("gpu").params(), b = newest("cpu").params();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-4) << i;
  EXPECT_THAT(run("devices").out, HasSubstr("cuda:0   PTX simulator"));
  EXPECT_THAT(run("devices").out, Not(HasSubstr("no GPU")));
  EXPECT_THAT(run("devices", "SFNN_GPUSIM_DRIVER=none").out,
              testing::EndsWith("\nno GPU:  no NVIDIA driver is installed\n"));
}

TEST_F(CudaProgram, AutoSaysInOneLineWhichDeviceItTook) {
  const std::string train = std::string("train --dry-run ") + kTiny;
  EXPECT_THAT(run(train).out, HasSubstr("using cuda (PTX simulator"));
  EXPECT_THAT(run(train).out, HasSubstr("), the first GPU\n"));
  for (const auto& [machine, reason] :
       {std::pair{"SFNN_GPUSIM_DRIVER=none", "no NVIDIA driver is installed\n"},
        {"SFNN_GPUSIM_DRIVER=busy", "the GPU is busy: "},
        {"SFNN_GPUSIM_MEMORY=10000000", "the GPU has too little memory: 32 MiB more"}}) {
    const Result cpu = run(train, machine);
    EXPECT_EQ(cpu.code, 0) << cpu.out;
    EXPECT_THAT(cpu.out, HasSubstr(std::string("), no GPU: ") + reason));
  }
  EXPECT_THAT(run(train + "--device cuda").out, Not(HasSubstr("the first GPU")));
}

TEST_F(CudaProgram, EveryReasonHasItsSentenceAndExitCodeTwo) {
  for (const auto& [machine, sentence] :
       {std::pair{"SFNN_GPUSIM_DRIVER=none", "no NVIDIA driver is installed"},
        {"SFNN_GPUSIM_DRIVER=old", "the NVIDIA driver is too old: it supports CUDA 12.8"},
        {"SFNN_GPUSIM_DRIVER=no-device", "the NVIDIA driver finds no GPU"},
        {"SFNN_GPUSIM_DRIVER=no-code", "this program has no code for PTX simulator"},
        {"SFNN_GPUSIM_DRIVER=busy", "the GPU is busy: another process has it for itself"},
        {"SFNN_GPUSIM_DRIVER=broken", "the GPU cannot be used: uncorrectable ECC error"},
        {"SFNN_GPUSIM_MEMORY=10000000", "the GPU has too little memory: 32 MiB more"},
        {"SFNN_GPUSIM_MEMORY=34000000", "the GPU has too little memory: cuBLAS's own"}}) {
    const Result result = run(std::string("train --device cuda --out none ") + kTiny, machine);
    EXPECT_EQ(result.code, 2) << machine << result.out;
    EXPECT_THAT(result.out, HasSubstr(sentence));
    EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1) << result.out;
    EXPECT_FALSE(fs::exists(directory_ / "none"));
  }
}

TEST_F(CudaProgram, ABatchThatDoesNotFitIsTakenInTilesAndThatIsSaidOnce) {
  const std::string train =
      "train --device cuda --dry-run --set net.hidden=200s,200s --set train.particles=1000 ";
  const Result small = run(train, "SFNN_GPUSIM_MEMORY=200000000");
  EXPECT_EQ(small.code, 0) << small.out;
  const std::string note = "a batch of 100 examples x 1000 particles does not fit";
  const std::size_t first = small.out.find(note);
  ASSERT_NE(first, std::string::npos) << small.out;
  EXPECT_EQ(small.out.find(note, first + 1), std::string::npos);
  EXPECT_THAT(small.out, testing::ContainsRegex("in [0-9]+ tiles of [0-9]+ examples; parameters "
                                                "and workspace are [0-9.]+ MB"));
  EXPECT_THAT(run(train).out, Not(HasSubstr("does not fit")));
  EXPECT_THAT(run(train + "--set train.tile=2", "SFNN_GPUSIM_MEMORY=200000000").out,
              Not(HasSubstr("does not fit")));
}

TEST_F(CudaProgram, APlanBeyondTheDeviceIsPrintedAndRefused) {
  const Result result = run("train --device cuda --dry-run --set net.hidden=3000s,3000s",
                            "SFNN_GPUSIM_MEMORY=100000000");
  EXPECT_EQ(result.code, 2) << result.out;
  EXPECT_THAT(result.out, HasSubstr("parameters   11"));
  EXPECT_THAT(result.out, HasSubstr("of memory and cuda (PTX simulator"));
}

}  // namespace
}  // namespace sfnn
