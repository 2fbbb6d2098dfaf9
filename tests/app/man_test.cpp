// Manual pages: they have what --help has, and groff has nothing to say against them.
#include <gmock/gmock.h>

#include "host/formats/atomic_file.hpp"
#include "tests/support/program.hpp"

namespace sfnn {
namespace {

using testing::HasSubstr;

class Man : public Program {
 protected:
  bool has(const std::string& program) {
    return run("--version >/dev/null; command -v " + program + " #").code == 0;
  }
};

TEST_F(Man, HasEveryOptionExampleAndKey) {
  const std::string page = run("man train").out;
  for (const char* text :
       {".TH sfnn\\-train 1", "sfnn\\-train \\- Train a network", ".B \\-\\-threads INT",
        "one per core (default 0) (or the variable SFNN_THREADS)", ".SH Examples",
        "sfnn train \\-\\-out runs/first", ".SH Exit codes\n0 done",
        "train.learning_rate=", ".BR sfnn (1)"}) {
    EXPECT_THAT(page, HasSubstr(text));
  }
  EXPECT_THAT(run("man eval").out, HasSubstr(".SH ARGUMENTS\n.TP\n.B run\n"));
  EXPECT_THAT(run("man").out, HasSubstr(".BR sfnn\\-estimators (1)"));
  const Result wrong = run("man fly");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.out, HasSubstr("unknown command 'fly'"));
}

TEST_F(Man, GroffFindsNothingWrong) {
  if (!has("groff")) GTEST_SKIP() << "groff is not installed";
  ASSERT_EQ(run("man --out pages").code, 0);
  int pages = 0;
  for (const auto& entry : fs::directory_iterator(directory_ / "pages")) {
    const Result lint =
        run("--version >/dev/null; groff -man -Tutf8 -ww -z '" + entry.path().string() + "'");
    EXPECT_EQ(lint.out, "") << entry.path();
    ++pages;
  }
  EXPECT_GE(pages, 14);
}

TEST_F(Man, ManShowsIt) {
  if (!has("man")) GTEST_SKIP() << "man is not installed";
  ASSERT_EQ(run("man --out pages").code, 0);
  const Result shown =
      run("--version >/dev/null; MANWIDTH=100 LC_ALL=C.UTF-8 man -l pages/sfnn-predict.1 | col -b");
  EXPECT_THAT(shown.out, HasSubstr("sfnn-predict - Apply a trained network"));
  EXPECT_THAT(shown.out, HasSubstr("--samples"));
}

}  // namespace
}  // namespace sfnn
