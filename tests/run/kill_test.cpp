// A run that is killed, at any moment and as often as one likes, and resumed ends with the same
// bits as one that was left alone; and a resume that forgets anything is found out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <functional>

#include "host/backend/plain/plain_backend.hpp"
#include "host/formats/npy.hpp"
#include "host/train/trainer.hpp"
#include "tests/support/killed_run.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/small_data.hpp"
#include "tests/support/temporary_directory.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

// Five steps an epoch, every one saved. Labels without sense: validation is best before the end,
// and a best that was forgotten is not found again.
class Kill : public testing::Test {
 protected:
  Kill() {
    Random random(1);
    const auto write = [&](const char* name, std::int64_t rows, std::int64_t cols) {
      NpyArray array{.shape = {rows, cols}};
      std::vector<float> x(rows * cols);
      std::vector<std::int64_t> classes(rows);
      for (float& value : x) value = float(random.normal());
      for (std::int64_t& value : classes) value = random.integer(0, 2);
      if (cols > 1) {
        array.values = x;
      } else {
        array.shape = {rows};
        array.values = classes;
      }
      write_npy(directory_.path() / name, array);
    };
    write("x.npy", 60, 8);
    write("y.npy", 60, 1);
    write("tx.npy", 10, 8);
    write("ty.npy", 10, 1);
    run_ = {.program = SFNN_PROGRAM, .arguments = {"--data", directory_.path().string()}};
    for (const char* setting :
         {"data.set=files", "data.train_x=x.npy", "data.train_y=y.npy", "data.test_x=tx.npy",
          "data.test_y=ty.npy", "data.output=softmax", "data.valid=20", "net.hidden=30s,20s",
          "train.estimator=G1", "train.particles=5", "train.batch=9", "train.epochs=8",
          "train.learning_rate=0.5", "train.save_steps=1", "train.keep=1000",
          "eval.particles=20"}) {
      run_.arguments.insert(run_.arguments.end(), {"--set", setting});
    }
  }

  fs::path path(const std::string& name) const { return directory_.path() / name; }

  // The whole run as it was after `step` steps, with its checkpoint changed.
  fs::path interrupted(std::int64_t step, const std::function<void(Checkpoint&)>& change) const {
    const fs::path run = path("interrupted");
    fs::remove_all(run);
    fs::copy(path("whole"), run, fs::copy_options::recursive);
    for (const auto& entry : fs::directory_iterator(path("whole") / "checkpoints")) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("step-") && std::stoll(name.substr(5)) > step)
        fs::remove(run / "checkpoints" / name);
    }
    Checkpoint checkpoint = outcome_of(run).newest;
    EXPECT_EQ(checkpoint.state.step, step);
    change(checkpoint);
    char name[40];
    std::snprintf(name, sizeof name, "step-%08ld.safetensors", long(step));
    save_checkpoint(run / "checkpoints" / name, checkpoint);  // with the right checksums
    return run;
  }

  TemporaryDirectory directory_;
  ProgramRun run_;
};

TEST_F(Kill, KilledAnywhereItEndsWithTheSameBits) {
  const auto begin = std::chrono::steady_clock::now();
  run_.train(path("whole"));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const RunOutcome whole = outcome_of(path("whole"));
  Random random(2);
  Kills all;
  for (int round = 0; all.count < 15 && round < 30; ++round) {  // some end before they are killed
    const fs::path run = path("killed" + std::to_string(round));
    const Kills kills = run_.train_with_kills(run, seconds, /*at_most=*/8, random);
    EXPECT_THAT(differences(whole, outcome_of(run)), IsEmpty());
    all.count += kills.count;
    all.inside_save += kills.inside_save;
  }
  EXPECT_GE(all.count, 15);
  EXPECT_GE(all.inside_save, 1);
  RecordProperty("kills", all.count);
  RecordProperty("inside_save", all.inside_save);
}

// The control: without these pieces the test above would have to fail.
TEST_F(Kill, ARestoreThatForgetsAnythingIsCaughtEveryTime) {
  run_.train(path("whole"));
  const RunOutcome whole = outcome_of(path("whole"));
  ASSERT_EQ(whole.newest.state.step, 40);
  const std::int64_t best_step = 5 * whole.newest.state.best_epoch;
  ASSERT_LE(best_step, 35) << "after it a forgotten best does not come back";

  struct Piece {
    const char* name;
    std::function<void(Checkpoint&)> forget;
  };
  const std::vector<Piece> pieces = {
      {"momentum", [](Checkpoint& c) { std::ranges::fill(c.state.P().array("velocity"), 0.0f); }},
      {"step", [](Checkpoint& c) { c.state.step = c.state.epoch = 0; }},
      {"step by one", [](Checkpoint& c) { --c.state.step; }},
      {"G1's averages",
       [](Checkpoint& c) { std::ranges::fill(c.state.P().array("baseline"), 0.0f); }},
      {"best", [](Checkpoint& c) { c.state.best_valid_nll.reset(), c.state.best_epoch = 0; }}};
  for (const std::int64_t after : {0, 1, 4}) {  // between two epochs, and within one
    const std::int64_t step = best_step + after;
    const fs::path sound = interrupted(step, [](Checkpoint&) {});
    run_.train(sound);
    EXPECT_THAT(differences(whole, outcome_of(sound)), IsEmpty()) << step;
    for (const Piece& piece : pieces) {
      const fs::path broken = interrupted(step, piece.forget);
      run_.train(broken);
      EXPECT_THAT(differences(whole, outcome_of(broken)), Not(IsEmpty()))
          << piece.name << " was left out at step " << step << ", and nobody noticed";
    }
    // The sums of an unfinished epoch show in its line of metrics.
    const fs::path broken = interrupted(step, [](Checkpoint& c) { c.state.c_hat_sum = 0; });
    run_.train(broken);
    if (step % 5 != 0) {
      EXPECT_THAT(differences(whole, outcome_of(broken)), Contains("metrics"));
    }
  }
}

// The order of an epoch's examples is not stored but made again; a trainer that does not is caught.
TEST(Restore, AnEpochsOrderThatWasForgottenIsCaught) {
  struct Forgetful : PlainBackend {
    using PlainBackend::PlainBackend;
    void run(const ShuffleArgs& p) override {
      if (!forgets) PlainBackend::run(p);
    }
    bool forgets = false;
  };
  const DataSet data = small_data(50, 7, 5, Output::bernoulli);
  const NetworkSpec spec = network(7, {"9s"}, 5, Output::bernoulli);
  const TrainOptions options{.particles = 3, .batch = 10, .epochs = 2};
  Forgetful backend(1);
  Trainer whole(backend, spec, options, data);
  while (whole.step() < 3) whole.train_step();
  const TrainState saved = whole.state();
  while (whole.step() < 10) whole.train_step();
  for (const bool forgets : {false, true}) {
    Trainer resumed(backend, spec, options, data);
    backend.forgets = forgets;
    resumed.restore(saved);
    resumed.train_step();
    backend.forgets = false;
    while (resumed.step() < 10) resumed.train_step();
    EXPECT_EQ(resumed.state().P().array("params") == whole.state().P().array("params"), !forgets);
  }
}

}  // namespace
}  // namespace sfnn
