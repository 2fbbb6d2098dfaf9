// A step of each workload in units of F, its own dense products in the fastest library at hand,
// which run in a process of their own, and the least time that it could take.
//
// The machine may be shared: in each round the minimum of several repetitions counts, and the
// figure is the median over rounds of the ratio.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/lib/bound.hpp"
#include "bench/lib/clock.hpp"
#include "bench/lib/dense_floor.hpp"
#include "bench/lib/peers.hpp"
#include "bench/lib/program.hpp"
#include "bench/lib/workloads.hpp"
#include "host/base/error.hpp"
#include "host/devices/registry.hpp"
#include "host/train/evaluate.hpp"

namespace sfnn::bench {
namespace {

struct Options {
  int rounds = 7, repetitions = 5;
  std::vector<int> workloads{1, 2, 3, 4, 5, 6};
  std::vector<int> threads;
  std::string json;
  std::string cache = "build/bench-cache";
  std::vector<std::string> peers;  // python and peer.py; empty: no peers
  bool plain = false;
  bool cpu_time = false;
};

struct Figure {
  double ms, floor_ms, ratio, bound_ms;
  std::string floor;                                  // whose products F is made of
  std::vector<std::pair<std::string, double>> peers;  // their ratios to F
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <class F>
double best_ms(const Options& options, F&& work) {
  const auto clock = options.cpu_time ? cpu_ms : wall_ms;
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < options.repetitions; ++i) {
    const double start = clock();
    work();
    best = std::min(best, clock() - start);
  }
  return best;
}

// What is timed: a training step or an evaluation.
class TimedWork {
 public:
  TimedWork(const Workload& w, int threads, bool plain)
      : workload_(w),
        backend_(make_backend({.device = "cpu", .plain = plain, .threads = threads})) {
    TrainOptions options = timed_options(w);
    if (plain) options.drop_below = 0;
    trainer_ = std::make_unique<Trainer>(*backend_, w.spec, options, w.data);
    trainer_->set_params(w.params);
    examples_ = evaluated_examples(w);
  }
  void run() {
    if (workload_.evaluation) {
      evaluate(trainer_->model(), examples_, {.particles = 100});
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

// The other frameworks, each checked on our weights and draws: a wrong step has no speed.
std::vector<std::unique_ptr<Peer>> checked_peers(const Workload& w, int threads,
                                                 const Options& options) {
  std::vector<std::unique_ptr<Peer>> peers;
  if (options.peers.empty()) return peers;
  const auto folder = std::filesystem::absolute(options.cache) / ("case-" + w.name);
  write_case(w, folder);
  for (const char* kind : {"torch-autograd", "torch-by-hand", "jax"}) {
    peers.push_back(
        std::make_unique<Peer>(kind, std::vector<std::string>{options.peers[0], options.peers[1],
                                                              kind, std::to_string(threads)}));
    peers.back()->load(folder);
    const double error = peers.back()->check();
    if (!(error < 1e-4)) {
      throw Error(fmt::format("{} does not compute {}: its gradient is off by {:.2g}", kind, w.name,
                              error));
    }
  }
  return peers;
}

// The library that does F's products fastest; the others have ended.
std::unique_ptr<Peer> fastest_floor(const Workload& w, int threads, const Options& options) {
  std::unique_ptr<Peer> fastest;
  double best = std::numeric_limits<double>::infinity();
  for (std::unique_ptr<Peer>& floor : floors(w, threads)) {
    floor->best_ms(1, options.cpu_time);  // warms up
    const double ms = floor->best_ms(options.repetitions, options.cpu_time);
    if (ms < best) {
      best = ms;
      fastest = std::move(floor);
    }
  }
  return fastest;
}

Figure measure(const Workload& w, double live, int threads, const Options& options) {
  const auto floor = fastest_floor(w, threads, options);
  TimedWork work(w, threads, options.plain);
  const auto peers = checked_peers(w, threads, options);
  work.run();
  std::vector<double> times, floor_times, ratios;
  std::vector<std::vector<double>> peer_ratios(peers.size());
  for (int round = 0; round < options.rounds; ++round) {
    const double floor_ms = floor->best_ms(options.repetitions, options.cpu_time);
    const double ms = best_ms(options, [&] { work.run(); });
    times.push_back(ms);
    floor_times.push_back(floor_ms);
    ratios.push_back(ms / floor_ms);
    for (std::size_t i = 0; i < peers.size(); ++i) {
      const double peer_ms = peers[i]->best_ms(options.repetitions, options.cpu_time);
      peer_ratios[i].push_back(peer_ms / floor_ms);
    }
  }
  const StepCosts costs = costs_of(w, live);
  const double rate = operations(floor_layers(w)) / median(floor_times);  // per millisecond
  const double bound = std::max(costs.operations / rate, 1e3 * costs.bytes / copy_rate(threads));
  Figure figure{median(times), median(floor_times), median(ratios), bound, floor->kind(), {}};
  for (std::size_t i = 0; i < peers.size(); ++i)
    figure.peers.emplace_back(peers[i]->kind(), median(peer_ratios[i]));
  return figure;
}

void run(const Options& options) {
  const JsonFile json(options.json);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  fmt::print("{:<4} {:<58} {:>7} {:>10} {:>10} {:>7} {:>10}  {}\n", "", "workload", "threads", "ms",
             "F ms", "ratio", "bound ms", "F by");
  for (int number : options.workloads) {
    const Workload w = make_workload(number, options.cache, options.threads.back());
    const double live = live_share(w);
    for (int threads : options.threads) {
      const Figure f = measure(w, live, threads, options);
      fmt::print("{:<4} {:<58} {:>7} {:>10.3f} {:>10.3f} {:>7.3f} {:>10.3f}  {}\n", w.name, w.title,
                 threads, f.ms, f.floor_ms, f.ratio, f.bound_ms, f.floor);
      rows.push_back({{"workload", w.name},
                      {"threads", threads},
                      {"ms", f.ms},
                      {"floor_ms", f.floor_ms},
                      {"ratio", f.ratio},
                      {"bound_ms", f.bound_ms},
                      {"floor", f.floor},
                      {"data", w.data_note}});
      for (const auto& [kind, ratio] : f.peers) {
        fmt::print("{:>95} {:>7.3f}\n", kind, ratio);
        rows.back()["peers"][kind] = ratio;
      }
      std::fflush(stdout);
    }
    fmt::print("     on {}{}\n", w.data_note,
               number == 2
                   ? "; F counts the products back through the weights too, though G5 needs none"
                   : "");
  }
  json.write(rows);
}

}  // namespace
}  // namespace sfnn::bench

int main(int argc, char** argv) {
  using namespace sfnn::bench;
  Options options;
  const int cores = std::max(1u, std::thread::hardware_concurrency());
  options.threads = cores > 1 ? std::vector<int>{1, cores} : std::vector<int>{1};
  const CLI::Range count(1, 100000);
  CLI::App app("Times a step of each workload against its dense products in the fastest library.");
  app.add_option("--rounds", options.rounds)->check(count)->capture_default_str();
  app.add_option("--repetitions", options.repetitions)->check(count)->capture_default_str();
  app.add_option("--workload", options.workloads, "1 to 6; may be repeated")
      ->check(CLI::Range(1, kWorkloads));
  app.add_option("--threads", options.threads, "Thread counts")->check(count);
  app.add_option("--json", options.json, "Write the table to this file as well");
  app.add_option("--cache", options.cache, "Folder for trained networks")->capture_default_str();
  app.add_option("--peers", options.peers,
                 "Time other frameworks as well: a Python that has them, and bench/peers/peer.py")
      ->expected(2);
  app.add_flag("--cpu-time", options.cpu_time,
               "Compare the processor time of all threads: for a machine that is busy otherwise");
  app.add_flag("--plain", options.plain, "Time the plain path instead");
  return run_program("step_bench", app, argc, argv, [&] { run(options); });
}
