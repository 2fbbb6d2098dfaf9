// A run with a learned proposal as a user sees it: both figures, by name.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "host/run/metrics.hpp"
#include "tests/support/trained_program.hpp"

namespace sfnn {
namespace {

using ::testing::HasSubstr;

struct ProposalProgram : TrainedProgram {
  const std::string with_R_ = "--set proposal.on=true --set proposal.hidden=8d ";
};

TEST_F(ProposalProgram, ShowsAndStoresBothFigures) {
  const Result trained = run("train " + small_ + with_R_ + "--set train.epochs=2 --out a");
  ASSERT_EQ(trained.code, 0) << trained.out;
  EXPECT_THAT(trained.out, HasSubstr("proposal.rule = rws takes the place of train.estimator"));
  EXPECT_THAT(trained.out, HasSubstr("by draws of R: NLL bound"));
  const auto lines = read_metrics(directory_ / "a" / "metrics.jsonl");
  for (const char* key : {"test_nll", "test_nll_proposal", "valid_nll", "valid_nll_proposal",
                          "test_effective_particles", "test_effective_particles_proposal",
                          "valid_effective_particles", "valid_effective_particles_proposal",
                          "train_c_hat_proposal", "effective_particles_proposal"})
    EXPECT_TRUE(lines.back()[key].is_number()) << key;
  // The particles of training are R's: nothing of theirs stands under P's name.
  for (const char* key : {"train_c_hat", "train_c_hat_within", "effective_particles"})
    EXPECT_FALSE(lines.back().contains(key)) << key;
  EXPECT_TRUE(lines.back()["train_c_hat_proposal_within"].is_array());
  EXPECT_THAT(trained.out, HasSubstr("  C_hat by R -"));
  EXPECT_THAT(run("info a").out, HasSubstr("C_hat by R"));
  EXPECT_NE(lines.back()["test_nll"], lines.back()["test_nll_proposal"]);
  const double best =
      std::min(double(lines[0]["valid_nll_proposal"]), double(lines[1]["valid_nll_proposal"]));
  EXPECT_EQ(newest("a").state.best_valid_nll, best);

  const Result tested = run("eval a --curve curve.csv");
  EXPECT_THAT(tested.out, HasSubstr("test NLL "));
  EXPECT_THAT(tested.out, HasSubstr("NLL bound by R "));
  EXPECT_THAT(file("curve.csv"), testing::StartsWith("M,C_hat,C_hat_by_R\n1,"));
  EXPECT_EQ(run("report a --out a.html").code, 0);
  EXPECT_THAT(file("a.html"), HasSubstr("test NLL bound by R"));
  EXPECT_THAT(file("a.html"), HasSubstr("Validation by draws of R"));
  EXPECT_THAT(file("a.html"), HasSubstr("Training criterion by draws of R"));
  EXPECT_THAT(file("a.html"), HasSubstr("Effective particles in validation, draws of R"));
}

// The average of the weights, the best epoch's, and a sweep have both figures, too.
TEST_F(ProposalProgram, NoFigureStandsForTheOther) {
  train("a", with_R_ + "--set train.ema=0.9 --set train.patience=5 --set eval.weights=average");
  const auto lines = read_metrics(directory_ / "a" / "metrics.jsonl");
  for (const char* pair :
       {"valid_nll", "average_valid_nll", "test_nll", "average_test_nll", "best_test_nll"}) {
    const std::string by_R = std::string(pair) + "_proposal";
    ASSERT_TRUE(lines.back()[pair].is_number() && lines.back()[by_R].is_number()) << pair;
    EXPECT_NE(lines.back()[pair], lines.back()[by_R]) << pair;
  }
  for (const char* of : {"valid", "average_valid", "test", "average_test"}) {
    const std::string by_P = std::string(of) + "_effective_particles", by_R = by_P + "_proposal";
    ASSERT_TRUE(lines.back()[by_P].is_number() && lines.back()[by_R].is_number()) << of;
    EXPECT_NE(lines.back()[by_P], lines.back()[by_R]) << of;
  }
  EXPECT_EQ(newest("a").state.best_valid_nll,
            std::min(double(lines[0]["average_valid_nll_proposal"]),
                     double(lines[1]["average_valid_nll_proposal"])));
  const double nll = lines.back()["average_test_nll_proposal"];
  EXPECT_THAT(run("eval a").out, HasSubstr(fmt::format("NLL bound by R       {:.4f} ", nll)));
  EXPECT_THAT(run("info a").out, HasSubstr(fmt::format("by draws of R: NLL bound {:.3f}", nll)));

  const Result sweep =
      run("sweep " + small_ + with_R_ + "--set train.epochs=1 --seeds 1,2 --out s");
  ASSERT_EQ(sweep.code, 0) << sweep.out;
  EXPECT_THAT(sweep.out, HasSubstr("valid NLL by R"));
  EXPECT_THAT(file("s/summary.csv"), HasSubstr(",test_nll_proposal_mean,"));
}

TEST_F(ProposalProgram, SearchesTheRateByDrawsOfR) {
  const std::string search =
      "train " + small_ + with_R_ + "--set train.epochs=2 --search-lr 0.03:0.1 --search-epochs 1 ";
  const Result by_R = run(search + "--out r"), by_P = run(search + "--set eval.select=nll --out p");
  ASSERT_EQ(by_R.code, 0) << by_R.out;
  EXPECT_THAT(by_R.out, HasSubstr("finished; by draws of R"));
  ASSERT_EQ(by_P.code, 0) << by_P.out;
  const auto r = read_metrics(directory_ / "r/search.jsonl"),
             p = read_metrics(directory_ / "p/search.jsonl");
  EXPECT_FALSE(r[0].contains("valid_nll"));
  EXPECT_NE(r[0]["valid_nll_proposal"], p[0]["valid_nll"]);
}

TEST_F(ProposalProgram, DrawsThePosteriorIfThereIsAnR) {
  train("a", with_R_);
  train("b", "");
  ASSERT_EQ(run("sample a --out prior.png").code, 0);
  ASSERT_EQ(run("sample a --posterior --out posterior.png").code, 0);
  EXPECT_NE(file("prior.png"), file("posterior.png"));
  const Result none = run("sample b --posterior");
  EXPECT_EQ(none.code, 2) << none.out;
  EXPECT_THAT(none.out, HasSubstr("the run has no R"));
}

int width_of(const std::string& printed) {
  int width = 0;
  std::sscanf(printed.c_str(), "%*s (%d x", &width);
  return width;
}

// Without an input there is nothing to show of P's samples; R was given the example.
TEST_F(ProposalProgram, ShowsTheExampleThatRWasGiven) {
  train("g", with_R_ + "--set data.task=generate");
  const Result prior = run("sample g --rows 2 --samples 3 --out prior.png"),
               posterior = run("sample g --rows 2 --samples 3 --posterior --out posterior.png");
  ASSERT_EQ(posterior.code, 0) << posterior.out;
  EXPECT_GT(width_of(prior.out), 0) << prior.out;
  EXPECT_GT(width_of(posterior.out), 1.2 * width_of(prior.out));
}

TEST_F(ProposalProgram, ASweepHasBothFiguresOfTheEpochThatIsPreferred) {
  const Result sweep =
      run("sweep " + small_ + with_R_ + "--set train.epochs=2 --seeds 1,2 --out s");
  ASSERT_EQ(sweep.code, 0) << sweep.out;
  EXPECT_THAT(sweep.out, HasSubstr("effective by R"));
  for (const char* name : {"seed=1", "seed=2"}) {  // epoch 1 is the best by P, epoch 2 by R
    const auto path = directory_ / "s" / name / "metrics.jsonl";
    auto lines = read_metrics(path);
    ASSERT_EQ(lines.size(), 2u);
    lines[0]["valid_nll"] = 1.5;
    lines[0]["valid_nll_proposal"] = 9.5;
    lines[1]["valid_nll"] = 2.5;
    lines[1]["valid_nll_proposal"] = 8.5;
    std::filesystem::remove(path);
    for (const auto& line : lines) append_metrics(path, line);
  }
  const Result again = run("sweep --resume --out s");
  ASSERT_EQ(again.code, 0) << again.out;
  EXPECT_THAT(file("s/summary.csv"), HasSubstr(",2,2,2.5,0,"));
  EXPECT_THAT(file("s/summary.csv"), HasSubstr(",8.5,0,"));
}

TEST_F(ProposalProgram, SaysIfAnRToStartFromIsNotTaken) {
  train("a", with_R_);
  const std::string begin = "train " + small_ + "--set train.epochs=0 --init-from a ";
  const Result other =
      run(begin + "--set proposal.on=true --set proposal.hidden=9d --quiet --out b");
  ASSERT_EQ(other.code, 0) << other.out;
  EXPECT_THAT(other.out, HasSubstr("its proposal R is not taken: it is "));
  EXPECT_THAT(other.out, HasSubstr("-8d-"));
  EXPECT_THAT(other.out, HasSubstr("-9d-"));
  EXPECT_EQ(newest("b").params(), newest("a").params());
  EXPECT_THAT(run(begin + "--quiet --out c").out, HasSubstr("this run has none"));
  EXPECT_THAT(run(begin + with_R_ + "--quiet --out d").out,
              testing::Not(HasSubstr("is not taken")));
}

TEST_F(ProposalProgram, AnRThatCannotBeIsRefusedBeforeAnythingIsMade) {
  std::string layers = "1d";
  for (int i = 0; i < 300; ++i) layers += ",1d";
  const Result refused =
      run("train " + small_ + "--set proposal.on=true --set proposal.hidden=" + layers +
          " --dry-run --out e");
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_THAT(refused.out, HasSubstr("proposal.on = true: R: 301 hidden layers"));
}

TEST_F(ProposalProgram, StartsFromARunWithoutR) {
  train("b", "");
  ASSERT_EQ(run("train " + small_ + with_R_ + "--set train.epochs=0 --init-from b --out c").code,
            0);
  EXPECT_EQ(newest("c").params(), newest("b").params());
  ASSERT_TRUE(newest("c").state.R());
  // And from one with it, both networks.
  train("a", with_R_);
  ASSERT_EQ(run("train " + small_ + with_R_ + "--set train.epochs=0 --init-from a --out d").code,
            0);
  EXPECT_EQ(newest("d").params(), newest("a").params());
  EXPECT_EQ(newest("d").state.R()->params(), newest("a").state.R()->params());
}

TEST_F(ProposalProgram, SelectsByDrawsOfPIfAsked) {
  train("a", with_R_ + "--set eval.select=nll");
  const auto lines = read_metrics(directory_ / "a" / "metrics.jsonl");
  EXPECT_EQ(newest("a").state.best_valid_nll,
            std::min(double(lines[0]["valid_nll"]), double(lines[1]["valid_nll"])));
  const Result refused = run("train " + small_ + "--set eval.select=nll_proposal --out e");
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_THAT(refused.out, HasSubstr("there is no R"));
}

}  // namespace
}  // namespace sfnn
