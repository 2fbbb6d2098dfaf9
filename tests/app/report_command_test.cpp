// The page that `sfnn report` writes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <regex>

#include "host/formats/atomic_file.hpp"
#include "host/run/metrics.hpp"
#include "tests/support/trained_program.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

using ReportCommand = TrainedProgram;

TEST_F(ReportCommand, ReportComparesRuns) {
  train("g3", "");
  train("g5", "--set train.estimator=G5");
  const Result report = run("report g3 g5 --out page.html");
  ASSERT_EQ(report.code, 0) << report.out;
  const std::string page = file("page.html");
  for (const char* text : {"2 runs compared", "Training criterion", "Validation", "C_hat against M",
                           "Effective particles in training", "Hidden layer 1", "Hidden layer 2",
                           "Samples of g5", "data:image/png;base64,iVBORw0KGgo",
                           "<tr class=\"differs\"><th scope=\"row\">train.estimator"}) {
    EXPECT_THAT(page, HasSubstr(text));
  }
  EXPECT_THAT(page, Not(HasSubstr("://"))) << "the page must need nothing else";
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  // The figure in the table is the one that eval prints.
  const Result eval = run("eval g5");
  std::smatch nll;
  ASSERT_TRUE(std::regex_search(eval.out, nll, std::regex(R"(test NLL +(\S+))"))) << eval.out;
  EXPECT_THAT(page, HasSubstr(fmt::format("{:.2f}", std::stod(nll[1]))));

  EXPECT_EQ(run("report g3").code, 0);
  EXPECT_TRUE(fs::exists(directory_ / "g3/report.html"));
  EXPECT_EQ(run("report").code, 2);
  EXPECT_EQ(run("report nowhere").code, 2);
}

TEST_F(ReportCommand, ChartsAndNumbersLieBesideThePageOnRequest) {
  train("first", "");
  ASSERT_EQ(run("report first --out page.html").code, 0);
  EXPECT_FALSE(fs::exists(directory_ / "page-files"));
  const Result report = run("report first --out page.html --files");
  ASSERT_EQ(report.code, 0) << report.out;
  EXPECT_THAT(report.out, HasSubstr("page-files ("));
  EXPECT_THAT(file("page-files/training-criterion.csv"), HasSubstr("series,epoch,"));
  EXPECT_THAT(file("page-files/training-criterion-within-epochs.svg"), HasSubstr("</svg>"));
  EXPECT_THAT(file("page-files/final-figures.csv"), HasSubstr("\nfirst,"));
  EXPECT_EQ(run("report first --files").code, 0);
  EXPECT_TRUE(fs::exists(directory_ / "first/report-files/final-figures.csv"));
  EXPECT_EQ(run("report first --json --files").code, 2);
  EXPECT_EQ(run("report first --out /dev/null --files").code, 2);
}

TEST_F(ReportCommand, ATrainingRunKeepsAPageOfItself) {
  train("without", "");
  train("with", "--report");
  EXPECT_EQ(newest("with").params(), newest("without").params()) << "looking changes nothing";
  EXPECT_FALSE(fs::exists(directory_ / "without/report.html"));
  const std::string done = file("with/report.html");
  EXPECT_THAT(done, HasSubstr("C_hat against M")) << "the finished run is measured";
  EXPECT_THAT(done, Not(HasSubstr("http-equiv=\"refresh\"")));

  // Killed, it cannot tell its page; stopped, it can.
  const std::string long_run = "train " + small_ + "--set train.epochs=100000 --report --out ";
  const std::string stop =
      " & pid=$!; until grep -qs 'Training criterion' {0}/report.html; do sleep "
      "0.01; done; kill -{1} $pid; wait $pid; exit $?; #";
  EXPECT_EQ(run(long_run + "killed" + fmt::format(fmt::runtime(stop), "killed", "KILL")).code, 137);
  EXPECT_THAT(file("killed/report.html"), HasSubstr("http-equiv=\"refresh\""));
  EXPECT_EQ(run(long_run + "stopped" + fmt::format(fmt::runtime(stop), "stopped", "TERM")).code, 3);
  EXPECT_THAT(file("stopped/report.html"), Not(HasSubstr("http-equiv=\"refresh\"")));
  EXPECT_THAT(file("stopped/report.html"), HasSubstr("Training criterion"));
}

TEST_F(ReportCommand, APageThatCannotBeWrittenDoesNotEndTheRun) {
  train("first", "");
  fs::create_directory(directory_ / "first/report.html");
  const Result result = run("train --resume --report --set train.epochs=4 --out first");
  EXPECT_EQ(result.code, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("test NLL"));
  const std::string said = "training continues without its page";
  ASSERT_THAT(result.out, HasSubstr(said));
  EXPECT_EQ(result.out.find(said), result.out.rfind(said)) << "once";
}

TEST_F(ReportCommand, ThePageSaysOnHowManyExamplesItTested) {
  train("first", "");
  const auto page = [&](const std::string& settings) {
    const Result report = run("report first --out page.html " + settings);
    EXPECT_EQ(report.code, 0) << report.out;
    return file("page.html");
  };
  EXPECT_THAT(page(""), HasSubstr("<td class=\"number\">60</td>"));
  const std::string limited = page("--set data.test_limit=25");
  EXPECT_THAT(limited, HasSubstr("<td class=\"number\">25</td>"));
  EXPECT_THAT(limited, HasSubstr("made with data.test_limit=25, which is not"));
}

TEST_F(ReportCommand, ReportWithoutTheDataShowsWhatTheFilesTell) {
  train("first", "");
  // The same run, said to be of a data set that is not here.
  fs::create_directories(directory_ / "files");
  Checkpoint checkpoint = newest("first");
  checkpoint.config.data.set = "gone";
  fs::remove_all(directory_ / "first/checkpoints");
  RunDirectory(directory_ / "first").save(checkpoint);
  const Result report = run("report first --data files");
  ASSERT_EQ(report.code, 0) << report.out;
  const std::string page = file("first/report.html");
  EXPECT_THAT(page, HasSubstr("not measured on its test examples"));
  EXPECT_THAT(page, HasSubstr("its test figures are from its own record"));
  const auto metrics = read_metrics(directory_ / "first/metrics.jsonl");
  EXPECT_THAT(page, HasSubstr(fmt::format(">{:.2f} \u00b1 {:.2f}<",
                                          metrics.back()["test_nll"].get<double>(),
                                          metrics.back()["test_nll_se"].get<double>())));
  EXPECT_THAT(page, HasSubstr("Training criterion"));
  EXPECT_THAT(page, HasSubstr("data:image/png")) << "samples.png is at hand";
  EXPECT_THAT(page, Not(HasSubstr("Hidden layer")));
}

// A run that others made may have anything by the name of its picture.
TEST_F(ReportCommand, AReportEmbedsThePictureOfTheRunAndNothingElse) {
  train("first", "");
  Checkpoint checkpoint = newest("first");
  checkpoint.config.data.set = "gone";
  RunDirectory(directory_ / "first").save(checkpoint);
  fs::create_directories(directory_ / "files");
  const fs::path picture = directory_ / "first/samples.png", elsewhere = directory_ / "elsewhere";
  fs::rename(picture, elsewhere);
  const std::function<void()> obstacles[] = {[&] { fs::create_symlink(elsewhere, picture); },
                                             [&] { write_file_atomically(picture, "a secret"); },
                                             [&] { fs::create_directories(picture); }};
  for (const auto& put : obstacles) {
    put();
    const Result report = run("report first --data files");
    ASSERT_EQ(report.code, 0) << report.out;
    EXPECT_THAT(report.out, HasSubstr("left out"));
    EXPECT_THAT(file("first/report.html"), Not(HasSubstr("data:image/png")));
    fs::remove(picture);
  }
}

}  // namespace
}  // namespace sfnn
