// `sfnn data` with folders as mirrors; transfers over HTTP are in tests/python/fetch_test.py.
#include <cstdlib>
#include <fstream>

#include "tests/support/program.hpp"

namespace sfnn {
namespace {

TEST_F(Program, DataOfTheWrongChecksumGetsNoName) {
  fs::create_directories(directory_ / "mirror");
  std::ofstream(directory_ / "mirror/train-images-idx3-ubyte") << "not these";
  const Result result = run("data mnist --from mirror --to here");
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(
      result.out.find("mirror/train-images-idx3-ubyte: the sha256 of its 9 unpacked bytes is"),
      std::string::npos)
      << result.out;
  EXPECT_FALSE(fs::exists(directory_ / "here/mnist"));
}

TEST_F(Program, DataNamesWhatIsNotThere) {
  const Result empty = run("data fashion-mnist --from . --to here");
  EXPECT_EQ(empty.code, 1);
  EXPECT_NE(empty.out.find("has no train-images-idx3-ubyte"), std::string::npos) << empty.out;
  EXPECT_FALSE(fs::exists(directory_ / "here")) << "nor is an empty folder left";
  const Result nowhere = run("data mnist --from nowhere --to here");
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_NE(nowhere.out.find("--from nowhere: there is no such folder"), std::string::npos)
      << nowhere.out;
  const Result scheme = run("data mnist --from ftp://x/ --to here");
  EXPECT_EQ(scheme.code, 2);
  EXPECT_NE(scheme.out.find("begins with http:// or https://"), std::string::npos) << scheme.out;
  EXPECT_EQ(run("data imagenet").code, 2);
  std::ofstream(directory_ / "file");
  EXPECT_EQ(run("data mnist --from . --to file").code, 1);
}

// The checksums in the table are those of the real files, and training finds what was fetched.
TEST_F(Program, DataBringsTheRealSetsWhereTrainingFindsThem) {
  const char* root = std::getenv("SFNN_DATA");
  int found = 0;
  for (const auto& [set, folder] :
       {std::pair<std::string, fs::path>{"mnist", fs::path(root ? root : "") / "mnist"},
        {"fashion-mnist", "/usr/share/datasets/fashion-mnist"}}) {
    if (!folder.is_absolute() || !fs::exists(folder)) continue;
    ++found;
    const std::string home =
        "env -u SFNN_DATA -u XDG_CACHE_HOME HOME='" + directory_.string() + "'";
    const Result fetched = run("data " + set + " --from '" + folder.string() + "'", home);
    ASSERT_EQ(fetched.code, 0) << fetched.out;
    const Result train =
        run("train --set data.limit=100 --set data.test_limit=50 --set "
            "train.epochs=1 --set net.hidden=5s --out " +
                set + "-run --set data.set=" + set,
            home);
    EXPECT_EQ(train.code, 0) << train.out;
  }
  if (found == 0) GTEST_SKIP() << "neither SFNN_DATA/mnist nor dataset-fashion-mnist is here";
}

}  // namespace
}  // namespace sfnn
