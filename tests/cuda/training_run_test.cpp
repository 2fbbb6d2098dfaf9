// A run on a GPU as the program makes it: how often the host waits for the device, and what a
// profiler is shown. Only the simulator counts them.
#include "host/run/training_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/app/terminal_progress.hpp"
#include "tests/gpusim/gpusim.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/small_data.hpp"
#include "tests/support/temporary_directory.hpp"

namespace sfnn {
namespace {

constexpr std::int64_t kBatch = 2;

struct Outcome {
  int waits;
  std::string shown;
};

// One epoch of `steps` steps on a terminal whose line may move at any time.
Outcome train(std::int64_t steps, bool graph, const RunOptions& options = {}) {
  const TemporaryDirectory directory;
  Config config;
  config.net.hidden = {{.n_s = 3}, {.n_s = 2}};
  config.train.particles = config.eval.particles = 2;
  config.train.batch = kBatch;
  config.train.epochs = 1;
  config.train.drop_below = 0.0;
  DataSet data = small_data(steps * kBatch, 4, 3, Output::bernoulli);
  // As many at the end of every run, which looks at the validation examples.
  data.valid = data.test = small_examples(4, 4, 3, Output::bernoulli, 2);
  const auto backend = make_test_backend("cuda_fp32", graph);
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* out = open_memstream(&text, &size);
  TerminalProgress progress(TerminalProgress::Mode::terminal, out, std::chrono::milliseconds(0));
  Outcome outcome;
  {
    TrainingRun run(*backend, config, options, data, Run(directory.path()), progress);
    run.start();
    gpusim::clear_calls();
    gpusim::clear_launches();
    EXPECT_EQ(run.train(), TrainingRun::End::finished);
    outcome.waits = gpusim::calls().waits;
  }
  std::fclose(out);
  outcome.shown = text;
  std::free(text);
  return outcome;
}

TEST(CudaTrainingRun, MetricsAreReadBackEverySixteenthStepAndNotBetween) {
  for (const bool graph : {false, true}) {
    SCOPED_TRACE(graph ? "as a graph" : "launch by launch");
    const int none = train(2, graph).waits, once = train(17, graph).waits;
    EXPECT_EQ(train(15, graph).waits, none);
    EXPECT_GT(once, none);
    EXPECT_EQ(train(31, graph).waits, once);
    EXPECT_EQ(train(33, graph).waits - once, once - none);
  }
}

TEST(CudaTrainingRun, TheLineMovesWhenTheMetricsAreThere) {
  const std::string shown = train(20, true).shown;
  EXPECT_THAT(shown, testing::HasSubstr("step 16/20"));
  EXPECT_THAT(shown, testing::Not(testing::HasSubstr("step 15/20")));
}

TEST(CudaTrainingRun, TheProfilerIsOnForTheStepsAskedFor) {
  train(8, /*graph=*/false, {.profiled = {2, 5}});
  const auto& marks = gpusim::calls().profiler;
  ASSERT_EQ(marks.size(), 2u);
  EXPECT_TRUE(marks[0].on);
  EXPECT_FALSE(marks[1].on);
  std::vector<std::size_t> steps;  // index of each one's first launch
  for (std::size_t k = 0; k < gpusim::launches().size(); ++k)
    if (gpusim::launches()[k].kernel.find("set_clock") != std::string::npos) steps.push_back(k);
  ASSERT_GE(steps.size(), 8u);
  EXPECT_EQ(marks[0].launches, steps[2]);
  EXPECT_EQ(marks[1].launches, steps[5]);
}

}  // namespace
}  // namespace sfnn
