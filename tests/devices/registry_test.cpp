// Which backend is taken for which --device, and what is said about it.
#include "host/devices/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/backend/backend.hpp"
#include "host/base/error.hpp"

namespace sfnn {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& device) {
  try {
    make_backend({.device = device});
  } catch (const ConfigError& error) {
    return error.what();
  }
  return {};
}

TEST(Registry, TakesTheCpuWhereItIsAskedFor) {
  std::string note;
  EXPECT_EQ(make_backend({.device = "cpu"}, &note)->name(), "cpu");
  EXPECT_THAT(note, HasSubstr("as asked for"));
  EXPECT_EQ(make_backend({.device = "cpu", .plain = true})->name(), "plain");
}

TEST(Registry, RefusesADeviceThatIsNotKnown) {
  EXPECT_THAT(refusal("tpu"), HasSubstr("device 'tpu' is not known: use auto, cpu"));
  EXPECT_NE(refusal("cuda:99"), "");
  EXPECT_NE(refusal("cuda:x"), "");
}

// With or without a GPU: what is listed can be had, and what cannot is refused with a reason.
TEST(Registry, SaysWhyThereIsNoGpu) {
  std::string why_no_gpu;
  const auto devices = list_devices(&why_no_gpu);
  ASSERT_FALSE(devices.empty());
  EXPECT_EQ(devices.front().name, "cpu");
  const bool has_gpu = devices.size() > 1;
  EXPECT_EQ(why_no_gpu.empty(), has_gpu);
  const std::string refused = refusal("cuda");
  EXPECT_EQ(refused.empty(), has_gpu);
  std::string note;
  const auto taken = make_backend({.device = "auto"}, &note);
  EXPECT_EQ(taken->name(), has_gpu ? "cuda" : "cpu");
  if (has_gpu) return;
  EXPECT_THAT(refused, HasSubstr("--device cuda is not available: "));
  EXPECT_THAT(refused, HasSubstr("use --device cpu"));
  const std::string reason = refused.substr(refused.find(": ") + 2);
  if (!note.empty()) {  // a program without CUDA has nothing to tell
    EXPECT_THAT(note, HasSubstr("using cpu"));
    EXPECT_THAT(note, HasSubstr(reason.substr(0, reason.find(';'))));
  }
  EXPECT_EQ(reason, why_no_gpu + "; use --device cpu");
}

}  // namespace
}  // namespace sfnn
