#include "tests/soak/cases.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>

#include "host/devices/registry.hpp"
#include "host/formats/npy.hpp"
#include "host/run/assemble.hpp"
#include "kernels/baseline.hpp"
#include "tests/soak/reference_step.hpp"
#include "tests/support/small_data.hpp"

namespace sfnn::soak {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kMaxThreads = 8;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Scores that grow with sigma or with the rate let training diverge at what suits the others.
double rate_that_holds(Output output) {
  switch (output) {
    case Output::softmax:
    case Output::bernoulli:
    case Output::gaussian:
      return 1;
    case Output::gaussian_learnt:
    case Output::gaussian_each:
    case Output::gaussian_predicted:
    case Output::poisson:
      return 1e-4;
  }
  return 1;
}

Case random_case(Random& random) {
  Case c{.spec = random_network(random.word(), /*max_depth=*/3, /*max_width=*/14)};
  const std::int64_t count = random.integer(3, 40);
  c.data = small_data(count, c.spec.D_in, c.spec.D_out, c.spec.output, random.word());
  if (random.uniform() < 0.3) {
    for (float& mean : c.data.units.x_mean = std::vector<float>(c.spec.D_in))
      mean = float(random.normal());
  }
  TrainOptions& options = c.options;
  options.seed = random.word() >> 1;
  options.estimator = kEstimators[random.integer(0, std::int64_t(kEstimators.size()) - 1)].id;
  options.particles = random.integer(2, 7);  // one would teach G4 and G5 nothing
  options.batch = random.integer(1, count);
  options.epochs = random.integer(1, 4);
  options.learning_rate = std::pow(10, random.uniform(-3, -1)) * rate_that_holds(c.spec.output);
  if (random.uniform() < 0.3) options.hidden_rate = random.uniform(0, 2);
  options.momentum = random.uniform(0, 0.95);
  options.baseline_decay = random.uniform(0.5, 0.99);
  options.drop_below = 0;  // the reference leaves nothing out
  options.tiling = {random.integer(1, options.batch), std::int64_t(1) << random.integer(0, 4)};
  return c;
}

// Files have at least one column, and their labels tell how many classes there are: two or more.
Case random_case_for_files(Random& random) {
  while (true) {
    Case c = random_case(random);
    const auto& y = std::get<std::vector<float>>(c.data.train.y.values);
    const bool one_class = c.spec.output == Output::softmax && std::ranges::max(y) == 0;
    if (c.spec.D_in > 0 && !one_class) return c;
  }
}

std::unique_ptr<Backend> random_backend(Random& random, bool plain) {
  return make_backend(
      {.device = "cpu", .plain = plain, .threads = int(random.integer(1, kMaxThreads))});
}

TrainState train(Trainer& trainer, std::int64_t steps) {
  while (trainer.step() < steps) trainer.train_step();
  return trainer.state();
}

std::string describe(const Case& c) {
  const TrainOptions& o = c.options;
  return fmt::format("{}, {}, M = {}, {} examples in batches of {}, tiles of {} in {} parts",
                     to_string(c.spec), row_of(o.estimator).name, o.particles, c.data.train.count,
                     o.batch, o.tiling.tile, o.tiling.parts);
}

// --- the program's arguments -------------------------------------------------------------------

void write_columns(const fs::path& path, const Columns& columns, bool classes) {
  const auto& values = std::get<std::vector<float>>(columns.values);
  if (classes) {
    write_npy(path, {.shape = {columns.rows()},
                     .values = std::vector<std::int64_t>(values.begin(), values.end())});
  } else {
    write_npy(path, {.shape = {columns.rows(), columns.cols}, .values = values});
  }
}

ProgramRun program_run(const std::string& program, const fs::path& scratch, const Case& c,
                       std::int64_t save_steps, std::int64_t keep) {
  write_columns(scratch / "x.npy", c.data.train.x, /*classes=*/false);
  write_columns(scratch / "y.npy", c.data.train.y, c.spec.output == Output::softmax);
  ProgramRun run{.program = program, .arguments = {"--data", scratch.string()}};
  std::vector<std::string> hidden;
  for (const LayerSpec& layer : c.spec.hidden) hidden.push_back(to_string(layer));
  const TrainOptions& o = c.options;
  const std::string_view sigma = row_of(c.spec.output).sigma;
  for (const std::string& setting : std::initializer_list<std::string>{
           "data.set=files",
           "data.train_x=x.npy",
           "data.train_y=y.npy",
           "data.test_x=x.npy",
           "data.test_y=y.npy",
           fmt::format("data.output={}", to_string(row_of(c.spec.output).family)),
           fmt::format("net.sigma={}", sigma.empty() ? "1" : sigma),
           fmt::format("data.valid={}", c.data.train.count / 3),
           fmt::format("seed={}", o.seed),
           fmt::format("net.hidden={}", fmt::join(hidden, ",")),
           fmt::format("train.estimator={}", row_of(o.estimator).name),
           fmt::format("train.particles={}", o.particles),
           fmt::format("train.batch={}", o.batch),
           fmt::format("train.epochs={}", o.epochs),
           fmt::format("train.learning_rate={}", o.learning_rate),
           fmt::format("train.hidden_rate={}", o.hidden_rate),
           fmt::format("train.momentum={}", o.momentum),
           fmt::format("train.tile={}", o.tiling.tile),
           fmt::format("train.parts={}", o.tiling.parts),
           fmt::format("train.save_steps={}", save_steps),
           fmt::format("train.keep={}", keep),
           "eval.particles=5"}) {
    run.arguments.insert(run.arguments.end(), {"--set", setting});
  }
  return run;
}

fs::path emptied(const fs::path& scratch) {
  fs::remove_all(scratch);
  fs::create_directories(scratch);
  return scratch;
}

}  // namespace

void compare_with_reference(Random& random, Tally& tally) {
  const Case c = random_case(random);
  const auto backend = random_backend(random, random.uniform() < 0.2);
  Trainer trainer(*backend, c.spec, c.options, c.data);
  for (auto steps = std::min(trainer.total_steps(), random.integer(1, 6)); steps > 0; --steps) {
    const TrainState before = trainer.state();
    trainer.train_step();
    const StepCheck check = check_step(c, trainer, before);
    if (!check.error.empty()) {
      throw std::runtime_error(fmt::format("step {} of {} on {}: {}", trainer.step(), describe(c),
                                           backend->describe(), check.error));
    }
    ++(check.tie ? tally.ties : tally.reference_steps);
  }
  ++tally.reference_cases;
}

Checkpoint checkpoint_of(Trainer& trainer, const Case& c) {
  Config config;
  config.train = c.options;
  config.data.set = "files";
  config.net.hidden = c.spec.hidden;
  return sfnn::checkpoint_of(trainer.state(), trainer, config, c.data);
}

void compare_with_twin(Random& random, Tally& tally) {
  const Case c = random_case(random);
  const auto backend = random_backend(random, /*plain=*/false);
  Trainer whole(*backend, c.spec, c.options, c.data);
  const TrainState expected = train(whole, whole.total_steps());

  TrainState state;
  for (std::int64_t step = 0; step < whole.total_steps(); ++tally.restores) {
    const auto other = random_backend(random, /*plain=*/false);
    Trainer piece(*other, c.spec, c.options, c.data);
    if (step > 0) piece.restore(state);
    step = random.integer(step + 1, whole.total_steps());
    train(piece, step);
    const std::string bytes = serialize(view_of(checkpoint_of(piece, c)));
    const Checkpoint saved = from_tensor_file(
        parse_safetensors(std::as_bytes(std::span(bytes)), "piece", Checksums::required), "piece");
    state = saved.state;
  }
  if (state.networks != expected.networks || state.c_hat_sum != expected.c_hat_sum ||
      state.effective_particles_sum != expected.effective_particles_sum) {
    throw std::runtime_error("pieces differ from the whole: " + describe(c));
  }
  ++tally.twins;
}

void compare_with_killed(const std::string& program, const fs::path& scratch, Random& random,
                         Tally& tally) {
  const Case c = random_case_for_files(random);
  const ProgramRun run =
      program_run(program, emptied(scratch), c, random.integer(0, 3), random.integer(1, 3));
  const auto begin = Clock::now();
  run.train(scratch / "whole");
  const double seconds = seconds_since(begin);
  ProgramRun other = run;
  other.arguments.insert(other.arguments.end(),
                         {"--threads", std::to_string(random.integer(1, kMaxThreads))});
  const Kills kills =
      other.train_with_kills(scratch / "killed", seconds, int(random.integer(1, 8)), random);
  const auto found = differences(outcome_of(scratch / "whole"), outcome_of(scratch / "killed"));
  if (!found.empty()) {
    throw std::runtime_error(fmt::format("after {} kills another {}: {}", kills.count,
                                         fmt::join(found, ", "), describe(c)));
  }
  ++tally.killed_runs;
  tally.kills.count += kills.count;
  tally.kills.inside_save += kills.inside_save;
  tally.kills.stops += kills.stops;
}

Growth memory_of_a_long_run(const std::string& program, const fs::path& scratch, double seconds) {
  Random random(1);
  Case c = random_case_for_files(random);
  while (!c.spec.trains_s()) c = random_case_for_files(random);
  c.options.epochs = 10'000'000;  // more than there is time for
  const ProgramRun run = program_run(program, emptied(scratch), c, /*save_steps=*/1, /*keep=*/2);
  std::vector<std::string> command = {program, "train", "--out", (scratch / "long").string()};
  command.insert(command.end(), run.arguments.begin(), run.arguments.end());
  Child child(command, scratch / "long.log");
  const auto wait = [&](double time) {
    std::this_thread::sleep_for(std::chrono::duration<double>(time));
    if (child.has_ended()) throw std::runtime_error("the long run ended: see " + scratch.string());
    return child.resident_bytes();
  };
  Growth growth;
  growth.from = wait(seconds / 3);
  growth.to = wait(seconds * 2 / 3);
  child.signal(SIGTERM);
  if (const int code = child.wait(); code != 3)
    throw std::runtime_error(fmt::format("the long run, stopped, ended with {}", code));
  return growth;
}

}  // namespace sfnn::soak
