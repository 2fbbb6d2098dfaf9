// A step of each workload in units of F, its own dense products in OpenBLAS, interleaved in one
// process.
//
// The machine may be shared: in each round the minimum of several repetitions counts, and the
// figure is the median over rounds of the ratio.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/dense_floor.hpp"
#include "bench/workloads.hpp"
#include "host/train/evaluate.hpp"

namespace sfnn::bench {
namespace {

struct Options {
  int rounds = 7, repetitions = 5;
  std::vector<int> workloads{1, 2, 3, 4, 5, 6};
  std::vector<int> threads;
  std::string json;
  std::string cache = "build/bench-cache";
  bool plain = false;
};

struct Figure {
  double ms, floor_ms, ratio;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <class F>
double best_ms(int repetitions, F&& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const auto time = std::chrono::steady_clock::now() - start;
    best = std::min(best, std::chrono::duration<double, std::milli>(time).count());
  }
  return best;
}

// What is timed: a training step at rate zero, which leaves the weights where they are, or an
// evaluation.
class TimedWork {
 public:
  TimedWork(const Workload& w, int threads, bool plain)
      : workload_(w),
        backend_(make_backend({.device = "cpu", .plain = plain, .threads = threads})) {
    TrainOptions options = w.options;
    options.learning_rate = 0;
    options.epochs = 1000000;
    if (plain) options.drop_below = 0;
    trainer_ = std::make_unique<Trainer>(*backend_, w.spec, options, w.data);
    trainer_->set_params(w.params);
    examples_ = w.data.test;
    examples_.count = std::min(examples_.count, w.evaluated);
  }
  void run() {
    if (workload_.evaluation) {
      evaluate(*backend_, workload_.spec, trainer_->params(), examples_, workload_.data.x_mean,
               {.particles = 100});
    } else {
      trainer_->train_step();
    }
  }

 private:
  const Workload& workload_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Trainer> trainer_;
  Examples examples_;
};

Figure measure(const Workload& w, int threads, const Options& options) {
  DenseFloor floor(w);
  TimedWork work(w, threads, options.plain);
  work.run();
  floor.run(threads);
  std::vector<double> times, floors, ratios;
  for (int round = 0; round < options.rounds; ++round) {
    const double floor_ms = best_ms(options.repetitions, [&] { floor.run(threads); });
    const double ms = best_ms(options.repetitions, [&] { work.run(); });
    times.push_back(ms);
    floors.push_back(floor_ms);
    ratios.push_back(ms / floor_ms);
  }
  return {median(times), median(floors), median(ratios)};
}

int run(const Options& options) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  fmt::print("{:<4} {:<58} {:>7} {:>10} {:>10} {:>7}\n", "", "workload", "threads", "ms", "F ms",
             "ratio");
  for (int number : options.workloads) {
    const Workload w = make_workload(number, options.cache, options.threads.back());
    for (int threads : options.threads) {
      const Figure f = measure(w, threads, options);
      fmt::print("{:<4} {:<58} {:>7} {:>10.3f} {:>10.3f} {:>7.3f}\n", w.name, w.title, threads,
                 f.ms, f.floor_ms, f.ratio);
      std::fflush(stdout);
      rows.push_back({{"workload", w.name},
                      {"threads", threads},
                      {"ms", f.ms},
                      {"floor_ms", f.floor_ms},
                      {"ratio", f.ratio},
                      {"data", w.data_note}});
    }
    fmt::print("     on {}{}\n", w.data_note,
               number == 2
                   ? "; F counts the products back through the weights too, though G5 needs none"
                   : "");
  }
  if (!options.json.empty()) std::ofstream(options.json) << rows.dump(2) << "\n";
  return 0;
}

}  // namespace
}  // namespace sfnn::bench

int main(int argc, char** argv) {
  using namespace sfnn::bench;
  Options options;
  const int cores = std::max(1u, std::thread::hardware_concurrency());
  options.threads = cores > 1 ? std::vector<int>{1, cores} : std::vector<int>{1};
  CLI::App app("Times a step of each workload against its dense products in OpenBLAS.");
  app.add_option("--rounds", options.rounds)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--repetitions", options.repetitions)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--workload", options.workloads, "1 to 6; may be repeated")
      ->check(CLI::Range(1, kWorkloads));
  app.add_option("--threads", options.threads, "Thread counts")->check(CLI::PositiveNumber);
  app.add_option("--json", options.json, "Write the table to this file as well");
  app.add_option("--cache", options.cache, "Where trained networks are kept")
      ->capture_default_str();
  app.add_flag("--plain", options.plain, "Time the plain path instead");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "step_bench: {}\n", error.what());
    return 1;
  }
}
