#include "host/run/run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/base/error.hpp"
#include "host/formats/atomic_file.hpp"
#include "tests/support/temporary_directory.hpp"

namespace sfnn {
namespace {

// In a test, Run is GoogleTest's own: the name needs its namespace.
class RunTest : public testing::Test {
 protected:
  RunTest() {
    Checkpoint checkpoint;
    checkpoint.config.net.hidden = {parse_layer("2s")};
    NetworkState& P = checkpoint.state.P();
    P.spec = {.D_in = 1, .hidden = checkpoint.config.net.hidden, .D_out = 1};
    const std::vector<float> zeros(ParamLayout(P.spec).size);
    P.arrays = {{"params", zeros}, {"velocity", zeros}};
    checkpoint.tiling = {1, 1};
    checkpoint.state.step = 10;
    RunDirectory directory(path_);
    directory.create(checkpoint.config);
    directory.save(checkpoint);
  }
  bool is_locked() const {
    try {
      RunDirectory(path_).lock();
      return false;
    } catch (const ConfigError&) {
      return true;
    }
  }
  const Warn ignore_ = [](const std::string&) {};

  TemporaryDirectory directory_;
  const std::filesystem::path path_ = directory_.path() / "run";
};

TEST_F(RunTest, IsLockedFromWhenItIsOpenedUntilItsLastOwnerIsGone) {
  EXPECT_FALSE(is_locked());
  {
    sfnn::Run run(path_);
    EXPECT_FALSE(is_locked());
    run.open(ignore_);
    EXPECT_TRUE(is_locked());
    const sfnn::Run next = std::move(run);
    EXPECT_TRUE(is_locked());
    EXPECT_NO_THROW(next.require_lock());
  }
  EXPECT_FALSE(is_locked());
}

// Another process may be about to save a newer one, and to remove this one.
TEST_F(RunTest, ReadsNoCheckpointOfARunThatAnotherTrains) {
  RunDirectory other(path_);
  other.lock();
  sfnn::Run run(path_);
  EXPECT_THROW(run.open(ignore_), ConfigError);
  EXPECT_FALSE(run.newest());
}

TEST_F(RunTest, LookingTakesNoLock) {
  sfnn::Run run(path_);
  run.look(ignore_);
  ASSERT_TRUE(run.newest());
  EXPECT_EQ(run.newest()->state.step, 10);
  EXPECT_FALSE(is_locked());
}

TEST_F(RunTest, GivesItsCheckpointAwayOnce) {
  sfnn::Run run(path_);
  run.open(ignore_);
  EXPECT_EQ(run.take_newest()->state.step, 10);
  EXPECT_FALSE(run.take_newest());
}

TEST_F(RunTest, ReadsItsConfigOnce) {
  sfnn::Run run(path_);
  ASSERT_TRUE(run.config());
  write_file_atomically(path_ / "config.toml", "no config at all");
  EXPECT_EQ(run.config()->net.hidden, std::vector{parse_layer("2s")});
  EXPECT_NO_THROW(run.require_continues(*run.config()));
  EXPECT_THROW(run.require_continues(Config()), ConfigError);
  EXPECT_FALSE(sfnn::Run(directory_.path()).config()) << "holds no run";
}

}  // namespace
}  // namespace sfnn
