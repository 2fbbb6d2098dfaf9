// Machines without usable CUDA: each cause has its own sentence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "host/backend/backend.hpp"
#include "host/base/error.hpp"
#include "host/devices/registry.hpp"
#include "tests/gpusim/gpusim.hpp"

namespace sfnn {
namespace {

using gpusim::Driver;
using testing::HasSubstr;

struct Machine {
  Driver driver;
  const char* sentence;
};

class Drivers : public testing::TestWithParam<Machine> {
 protected:
  Drivers() { gpusim::set_driver(GetParam().driver); }
  ~Drivers() override { gpusim::set_driver(Driver::kUsable); }
};

TEST_P(Drivers, CudaIsRefusedWithTheReason) {
  for (const char* device : {"cuda", "cuda:0"}) {
    try {
      make_backend({.device = device});
      FAIL() << "there is no such device";
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr(GetParam().sentence));
      EXPECT_THAT(error.what(), HasSubstr("use --device cpu"));
    }
  }
}

TEST_P(Drivers, AutoTakesTheCpuAndSaysWhy) {
  std::string note;
  EXPECT_EQ(make_backend({.device = "auto"}, &note)->name(), "cpu");
  EXPECT_THAT(note, HasSubstr("using cpu ("));
  EXPECT_THAT(note, HasSubstr(GetParam().sentence));
}

TEST_P(Drivers, OnlyWhatIsThereIsListed) {
  std::string why_no_gpu;
  const auto devices = list_devices(&why_no_gpu);
  const auto is_there = {Driver::kNoCode, Driver::kBusy, Driver::kBroken};
  ASSERT_EQ(devices.size(), 1u + std::ranges::count(is_there, GetParam().driver));
  EXPECT_EQ(devices[0].name, "cpu");
  EXPECT_EQ(why_no_gpu, devices.size() > 1 ? "" : GetParam().sentence);
}

INSTANTIATE_TEST_SUITE_P(
    Machines, Drivers,
    testing::Values(Machine{Driver::kNone, "no NVIDIA driver is installed"},
                    Machine{Driver::kOld,
                            "the NVIDIA driver is too old: it supports CUDA 12.8, "
                            "this program needs 13.0"},
                    Machine{Driver::kNoDevice, "the NVIDIA driver finds no GPU"},
                    Machine{Driver::kNoCode, "this program has no code for PTX simulator"},
                    Machine{Driver::kBusy, "the GPU is busy: another process has it"},
                    Machine{Driver::kBroken, "the GPU cannot be used: uncorrectable ECC error"}));

// Some memory is needed before the first network comes: cuBLAS's workspace, then its handle.
TEST(Driver, AGpuWithoutMemoryIsNotTaken) {
  for (const std::size_t bytes : {10000000, 34000000}) {
    gpusim::set_device_memory(bytes);
    std::string note;
    EXPECT_EQ(make_backend({.device = "auto"}, &note)->name(), "cpu");
    EXPECT_THAT(note, HasSubstr("), no GPU: the GPU has too little memory: "));
    EXPECT_THAT(note, testing::EndsWith(" MiB are free"));
    EXPECT_THROW(make_backend({.device = "cuda"}), ConfigError);
  }
  gpusim::set_device_memory(std::size_t(1) << 33);
}

TEST(Driver, AGpuIsTakenAndSaid) {
  std::string note;
  EXPECT_EQ(make_backend({.device = "auto"}, &note)->name(), "cuda");
  EXPECT_THAT(note, HasSubstr("using cuda (PTX simulator"));
  EXPECT_THAT(note, HasSubstr("the first GPU"));
  EXPECT_THROW(make_backend({.device = "cuda:1"}), ConfigError);
}

}  // namespace
}  // namespace sfnn
