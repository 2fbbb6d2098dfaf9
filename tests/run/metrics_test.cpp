#include "host/run/metrics.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "host/base/error.hpp"
#include "host/formats/atomic_file.hpp"
#include "host/formats/json_depth.hpp"
#include "tests/support/temporary_directory.hpp"

namespace sfnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Metrics : public ::testing::Test {
 protected:
  std::string content() const { return read_file(file_, 1 << 20); }

  TemporaryDirectory directory_;
  const std::filesystem::path file_ = directory_.path() / "metrics.jsonl";
  const MetricsLine first_{{"epoch", 1}, {"train_c_hat", -60.1}, {"valid_nll", 58.25}};
  const MetricsLine second_{{"epoch", 2}, {"train_c_hat", -0.1}, {"test_nll", 57.0}};
};

TEST_F(Metrics, ALineAnEpochInTheOrderGiven) {
  append_metrics(file_, first_);
  EXPECT_EQ(content(), "{\"epoch\":1,\"train_c_hat\":-60.1,\"valid_nll\":58.25}\n");
  append_metrics(file_, second_);
  EXPECT_THAT(read_metrics(file_), ElementsAre(first_, second_));
}

TEST_F(Metrics, ReadingFollowsNoLink) {
  const auto elsewhere = directory_.path() / "elsewhere";
  append_metrics(elsewhere, first_);
  std::filesystem::create_symlink(elsewhere, file_);
  EXPECT_THROW(read_metrics(file_), DataError);
}

TEST_F(Metrics, AppendingFollowsNoLink) {
  const auto precious = directory_.path() / "precious";
  write_file_atomically(precious, "mine");
  std::filesystem::create_symlink(precious, file_);
  EXPECT_THROW(append_metrics(file_, first_), SaveError);
  EXPECT_EQ(read_file(precious, 10), "mine");
}

TEST_F(Metrics, APipeKeepsNothing) {
  ASSERT_EQ(::mkfifo(file_.c_str(), 0666), 0);
  EXPECT_THROW(append_metrics(file_, first_), SaveError);
  EXPECT_THROW(read_metrics(file_), DataError);
}

TEST_F(Metrics, NoFileMeansNoLines) { EXPECT_THAT(read_metrics(file_), IsEmpty()); }

TEST_F(Metrics, ATornLastLineIsPassedOverAndThenCutOff) {
  append_metrics(file_, first_);
  for (const auto* torn :
       {"{\"epoch\":2,\"tra", "{\"epoch\":2}"}) {  // the second lacks its newline only
    write_file_atomically(file_, first_.dump() + "\n" + torn);
    EXPECT_THAT(read_metrics(file_), ElementsAre(first_));
    append_metrics(file_, second_);
    EXPECT_THAT(read_metrics(file_), ElementsAre(first_, second_));
  }
  write_file_atomically(file_, "{\"ep");
  EXPECT_THAT(read_metrics(file_), IsEmpty());
}

TEST_F(Metrics, ABadLineInTheMiddleIsNamed) {
  for (const std::string& bad : std::vector<std::string>{"{\"epoch\":", "[1]", ""}) {
    write_file_atomically(file_, first_.dump() + "\n" + bad + "\n" + second_.dump() + "\n");
    try {
      read_metrics(file_);
      FAIL();
    } catch (const DataError& e) {
      EXPECT_THAT(e.what(), HasSubstr("metrics.jsonl:2: not a JSON object"));
    }
  }
}

// Writing such a line again would call itself once a bracket, until the stack ends.
TEST_F(Metrics, ALineThatIsNestedTooDeeplyIsNamed) {
  const auto nested = [](int depth) {
    return fmt::format("{{\"a\":\"]]\\\"]\",\"b\":{}{}}}\n", std::string(depth - 1, '['),
                       std::string(depth - 1, ']'));
  };
  for (const std::string& deep :
       {nested(kMaxJsonDepth + 1), nested(1'000'000), std::string(1'000'000, '[') + "\n"}) {
    write_file_atomically(file_, first_.dump() + "\n" + deep);
    std::string warnings;
    EXPECT_THAT(read_metrics(file_, [&](const std::string& line) { warnings += line; }),
                ElementsAre(first_));
    EXPECT_THAT(warnings, HasSubstr("metrics.jsonl:2: nested too deeply: skipped"));
    EXPECT_THROW(read_metrics(file_), DataError);
  }
  write_file_atomically(file_, nested(kMaxJsonDepth));
  ASSERT_EQ(read_metrics(file_).size(), 1u);
  EXPECT_EQ(read_metrics(file_)[0].dump() + "\n", nested(kMaxJsonDepth));
}

TEST_F(Metrics, AnEpochThatIsNotACountIsNamed) {
  for (const auto* epoch : {"-1", "1.5", "\"1\"", "null", "[1]"}) {
    write_file_atomically(file_, fmt::format("{{\"epoch\":{}}}\n", epoch));
    try {
      read_metrics(file_);
      ADD_FAILURE() << epoch;
    } catch (const DataError& e) {
      EXPECT_THAT(e.what(), HasSubstr("metrics.jsonl:1: its epoch is not a count"));
    }
  }
}

TEST_F(Metrics, EpochsCanBeTakenBack) {
  append_metrics(file_, first_);
  append_metrics(file_, second_);
  rewrite_metrics(file_, {first_});
  EXPECT_THAT(read_metrics(file_), ElementsAre(first_));
}

TEST_F(Metrics, AFileThatCannotBeWrittenIsNamed) {
  try {
    append_metrics(directory_.path() / "none" / "metrics.jsonl", first_);
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("metrics.jsonl: cannot be written: No such file or directory"));
  }
}

}  // namespace
}  // namespace sfnn
