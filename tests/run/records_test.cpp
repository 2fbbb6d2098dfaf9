#include "host/run/records.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/formats/atomic_file.hpp"
#include "tests/support/temporary_directory.hpp"

namespace sfnn {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

EpochRecord full() {
  return {.epoch = 3,
          .step = 600,
          .train_c_hat = -60.25,
          .train_c_hat_proposal = -50.25,
          .valid_nll = 58.5,
          .valid_nll_proposal = 48.5,
          .learning_rate = 0.1,
          .effective_particles = 4.5,
          .effective_particles_proposal = 5.5,
          .valid_error = 0.25,
          .valid_effective_particles = 3.25,
          .valid_effective_particles_proposal = 6.25,
          .gradient_norm = 2.5,
          .clipped = 0.5,
          .train_c_hat_within = {-62.5, -58},
          .train_c_hat_proposal_within = {-52.5, -48},
          .average_valid_nll = 58.25,
          .average_valid_nll_proposal = 48.25,
          .average_valid_error = 0.2,
          .average_valid_effective_particles = 3.75,
          .average_valid_effective_particles_proposal = 6.75,
          .test_nll = 57.5,
          .test_error = 0.125,
          .test_criterion_sse = 3.5,
          .test_mean_sse = 2.5,
          .test_particles = 100,
          .test_examples = 10000,
          .test_nll_se = 0.25,
          .test_error_se = 0.5,
          .test_criterion_sse_se = 0.75,
          .test_mean_sse_se = 1.5,
          .average_test_nll = 57.25,
          .average_test_error = 0.1,
          .average_test_criterion_sse = 3.25,
          .average_test_mean_sse = 2.25,
          .average_test_sigma = 0.25,
          .average_test_nll_se = 0.125,
          .average_test_error_se = 0.375,
          .average_test_criterion_sse_se = 0.625,
          .average_test_mean_sse_se = 0.875,
          .best_test_nll = 57.0,
          .best_test_error = 0.05,
          .test_nll_proposal = 47.5,
          .test_nll_proposal_se = 0.125,
          .test_effective_particles = 3.5,
          .test_effective_particles_proposal = 6.5,
          .average_test_nll_proposal = 47.25,
          .average_test_nll_proposal_se = 0.375,
          .average_test_effective_particles = 3.125,
          .average_test_effective_particles_proposal = 6.125,
          .best_test_nll_proposal = 47.0,
          .warnings = {"units are stuck"},
          .seconds = 12.5,
          .never_saved = true};
}

// Scripts read the file by these names, and people in this order.
TEST(EpochRecord, KeysStayWhatTheyAre) {
  EXPECT_EQ(
      to_text(full()),
      R"({"epoch":3,"step":600,"train_c_hat":-60.25,"train_c_hat_proposal":-50.25,"valid_nll":58.5,)"
      R"("valid_nll_proposal":48.5,"learning_rate":0.1,)"
      R"("effective_particles":4.5,"effective_particles_proposal":5.5,"valid_error":0.25,)"
      R"("valid_effective_particles":3.25,"valid_effective_particles_proposal":6.25,)"
      R"("gradient_norm":2.5,"clipped":0.5,)"
      R"("train_c_hat_within":[-62.5,-58.0],"train_c_hat_proposal_within":[-52.5,-48.0],)"
      R"("average_valid_nll":58.25,"average_valid_nll_proposal":48.25,"average_valid_error":0.2,)"
      R"("average_valid_effective_particles":3.75,)"
      R"("average_valid_effective_particles_proposal":6.75,)"
      R"("test_nll":57.5,"test_error":0.125,)"
      R"("test_criterion_sse":3.5,"test_mean_sse":2.5,"test_particles":100,)"
      R"("test_examples":10000,"test_nll_se":0.25,"test_error_se":0.5,)"
      R"("test_criterion_sse_se":0.75,"test_mean_sse_se":1.5,)"
      R"("average_test_nll":57.25,"average_test_error":0.1,)"
      R"("average_test_criterion_sse":3.25,"average_test_mean_sse":2.25,)"
      R"("average_test_sigma":0.25,"average_test_nll_se":0.125,"average_test_error_se":0.375,)"
      R"("average_test_criterion_sse_se":0.625,"average_test_mean_sse_se":0.875,)"
      R"("best_test_nll":57.0,"best_test_error":0.05,)"
      R"("test_nll_proposal":47.5,"test_nll_proposal_se":0.125,)"
      R"("test_effective_particles":3.5,"test_effective_particles_proposal":6.5,)"
      R"("average_test_nll_proposal":47.25,"average_test_nll_proposal_se":0.375,)"
      R"("average_test_effective_particles":3.125,)"
      R"("average_test_effective_particles_proposal":6.125,"best_test_nll_proposal":47.0,)"
      R"("warnings":["units are stuck"],"seconds":12.5,"never_saved":true})");
  EXPECT_EQ(to_text(EpochRecord{.epoch = 1}), R"({"epoch":1,"valid_nll":null})");
}

TEST(EpochRecord, WhatIsWrittenIsRead) {
  const auto read = parse_epochs(to_text(full()) + "\n" + to_text(EpochRecord()) + "\n", "lines");
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(to_text(read[0]), to_text(full()));
  EXPECT_EQ(to_text(read[1]), to_text(EpochRecord()));
}

TEST(EpochRecord, WrongTypesAreNothingAndOtherKeysArePassedOver) {
  const auto read = parse_epochs(
      R"({"step":-1,"train_c_hat":"x","valid_nll":[1],"test_nll":{},"test_particles":1e300,)"
      R"("warnings":["a",{"b":1},7],"seconds":null,"new":1,"train_c_hat_within":[1,"x"]})"
      "\n"
      R"({"warnings":"a","test_particles":-5})"
      "\n",
      "lines");
  ASSERT_EQ(read.size(), 2u);
  EXPECT_FALSE(read[0].step || read[0].train_c_hat || read[0].valid_nll || read[0].test_nll ||
               read[0].seconds);
  EXPECT_EQ(read[0].test_particles, 2147483647);
  EXPECT_THAT(read[0].train_c_hat_within, IsEmpty());
  EXPECT_THAT(read[0].warnings, ElementsAre("a", R"({"b":1})", "7"));
  EXPECT_THAT(read[1].warnings, IsEmpty());
  EXPECT_EQ(read[1].test_particles, 0);
}

TEST(EpochRecord, TakingBackEpochsLeavesOtherLinesAsTheyAre) {
  const TemporaryDirectory directory;
  const auto file = directory.path() / "metrics.jsonl";
  const std::string kept = "{\"valid_nll\":\"x\",\"new\":[1,{}],\"epoch\":2}\n{\"note\":1}\n";
  write_file_atomically(file, kept + "{\"epoch\":3}\n{\"epoch\":18446744073709551615}\n");
  take_back_epochs_after(file, 2, nullptr);
  EXPECT_EQ(read_file(file, 1 << 10), kept);
}

TEST(SessionRecord, KeysStayWhatTheyAre) {
  EXPECT_EQ(to_text(SessionRecord{.started = "2026-01-31 12:30 UTC",
                                  .step = 0,
                                  .device = "cpu",
                                  .cpu = "",
                                  .version = "0.1.0"}),
            R"({"started":"2026-01-31 12:30 UTC","step":0,"device":"cpu","cpu":"",)"
            R"("version":"0.1.0"})");
}

TEST(SessionRecord, TextOfAnotherTypeIsShownAsItIs) {
  const TemporaryDirectory directory;
  const auto file = directory.path() / "sessions.jsonl";
  append_record(file, SessionRecord{.started = "now", .step = 7});
  write_file_atomically(file, read_file(file, 1 << 10) + "{\"device\":[1],\"step\":\"x\"}\n");
  const auto read = read_sessions(file);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].started, "now");
  EXPECT_EQ(read[0].step, 7u);
  EXPECT_EQ(read[1].device, "[1]");
  EXPECT_FALSE(read[1].step || read[1].started);
}

}  // namespace
}  // namespace sfnn
