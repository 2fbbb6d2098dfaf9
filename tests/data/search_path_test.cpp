// Where data are looked for, and in which order.
#include "host/data/search_path.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <optional>

#include "host/base/error.hpp"
#include "host/data/dataset.hpp"
#include "tests/support/idx_files.hpp"

namespace sfnn::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// An environment variable for one test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (before_)
      setenv(name_, before_->c_str(), 1);
    else
      unsetenv(name_);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

struct Places {
  TempFolder environment, home, asked;
  Variable sfnn_data{"SFNN_DATA", environment.path()};
  Variable home_variable{"HOME", home.path()};
  Variable xdg{"XDG_CACHE_HOME", ""};
};

TEST(SearchPath, EnvironmentThenCacheThenSystemThenHere) {
  const Places places;
  EXPECT_THAT(data_roots(""),
              ElementsAre(places.environment.path(), places.home.path() / ".cache/sfnn",
                          "/usr/share/datasets", "."));
  places.home.write(".cache/sfnn/set/a", "");
  EXPECT_EQ(find_data("", "set"), places.home.path() / ".cache/sfnn/set");
  places.environment.write("set/a", "");
  EXPECT_EQ(find_data("", "set"), places.environment.path() / "set");
}

TEST(SearchPath, AFolderWithoutDataHidesNothing) {
  const Places places;
  places.home.write(".cache/sfnn/set/a", "");
  std::filesystem::create_directories(places.environment.path() / "set");
  EXPECT_EQ(find_data("", "set"), places.home.path() / ".cache/sfnn/set");
  places.environment.write("set/a.gz.part", "");
  EXPECT_EQ(find_data("", "set"), places.home.path() / ".cache/sfnn/set");
}

TEST(SearchPath, WhatIsAskedForIsTheOnlyPlace) {
  const Places places;
  places.environment.write("set/a", "");
  const std::string message = message_of<DataError>([&] { find_data(places.asked.path(), "set"); });
  EXPECT_THAT(message, AllOf(HasSubstr("no set in " + places.asked.path().string() + ":"),
                             HasSubstr("--data or SFNN_DATA")));
  places.asked.write("set/a", "");
  EXPECT_EQ(find_data(places.asked.path(), "set"), places.asked.path() / "set");
}

TEST(SearchPath, AnAbsoluteNameStandsForItself) {
  const Places places;
  EXPECT_EQ(find_data("", places.asked.write("a", "")), places.asked.path() / "a");
}

TEST(SearchPath, ASetThatCanBeFetchedIsNamedWithTheCommand) {
  const Places places;
  const auto message = [&](const char* set) {
    return message_of<DataError>([&] { find_data(places.asked.path(), set); });
  };
  EXPECT_THAT(message("mnist"), HasSubstr("sfnn data mnist"));
  EXPECT_THAT(message("poems"), Not(HasSubstr("sfnn data")));
}

TEST(SearchPath, TheCacheFollowsXdg) {
  const Places places;
  const Variable xdg("XDG_CACHE_HOME", "/elsewhere");
  EXPECT_EQ(cache_folder(), "/elsewhere/sfnn");
}

// Debian's dataset-fashion-mnist, if it is installed.
TEST(SearchPath, FindsDebiansFashionMnist) {
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist"))
    GTEST_SKIP() << "the package dataset-fashion-mnist is not installed";
  const Places places;
  DataOptions options;
  options.set = "fashion-mnist";
  options.task = Task::classes;
  const DataSet data = load_data(options);
  EXPECT_EQ(data.train.count, 60000);
  EXPECT_EQ(data.test.count, 10000);
  EXPECT_EQ(data.D_out, 10);
}

TEST(SearchPath, NamesThatLeaveTheFoldersAreKnown) {
  for (const char* name : {"x.npy", "a/b/x.npy", "a/../x.npy", "./x", "/data/x", "/data/../data/x"})
    EXPECT_TRUE(lies_in_data_roots("/data", name)) << name;
  for (const char* name : {"../x", "a/../../x", "/etc/passwd", "/database/x", "/data/../x", ".."})
    EXPECT_FALSE(lies_in_data_roots("/data", name)) << name;
  EXPECT_TRUE(lies_in_data_roots("/data/", "x"));
  EXPECT_TRUE(lies_in_data_roots("", "x")) << "the current directory is one of them";
  EXPECT_FALSE(lies_in_data_roots("", "../../../../../../../../../../x"));
}

// "../here/x" from a folder that is called "here" comes back to it, and from another does not.
TEST(SearchPath, ANameThatLeavesOneOfTheFoldersIsKnown) {
  const Places places;
  const auto here = std::filesystem::current_path().filename();
  EXPECT_FALSE(lies_in_data_roots("", std::filesystem::path("..") / here / "x"));
  EXPECT_TRUE(lies_in_data_roots("", std::filesystem::current_path() / "x"));
}

}  // namespace
}  // namespace sfnn::test
