// Where a step's time goes: milliseconds by op for each workload, one thread, from the fastest of
// several steps. The machine may be shared: the fastest is the one least disturbed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "bench/lib/op_times.hpp"
#include "bench/lib/program.hpp"
#include "bench/lib/workloads.hpp"
#include "host/devices/registry.hpp"
#include "host/train/evaluate.hpp"

namespace sfnn::bench {
namespace {

using Times = std::map<std::string, double>;

struct Step {
  Times ms;
  double live_share = 1;  // share of the particles in the backward products
};

double total(const Times& times) {
  return std::accumulate(times.begin(), times.end(), 0.0,
                         [](double sum, const auto& op) { return sum + op.second; });
}

Step fastest_step(const Workload& w, int repetitions) {
  const auto backend = make_backend({.device = "cpu", .threads = 1});
  OpTimes times;
  Trainer trainer(*backend, w.spec, timed_options(w), w.data);
  trainer.set_params(w.params);
  Step best;
  for (int i = -1; i < repetitions; ++i) {  // the first warms up
    times.clear();
    backend->set_observer(&times);
    if (w.evaluation) {
      evaluate(trainer.model(), evaluated_examples(w), {.particles = 100});
    } else {
      trainer.train_step();
    }
    backend->set_observer(nullptr);
    if (i < 0) continue;
    if (best.ms.empty() || total(times.milliseconds()) < total(best.ms))
      best = {times.milliseconds(), times.live_share()};
  }
  return best;
}

void run(const std::vector<int>& workloads, int repetitions, const std::string& cache,
         const JsonFile& json) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (int number : workloads) {
    const Workload w = make_workload(number, cache, /*threads=*/1);
    const auto [times, live_share] = fastest_step(w, repetitions);
    fmt::print("{} {}: {:.3f} ms, {:.0f} % of the particles live\n", w.name, w.title, total(times),
               100 * live_share);
    std::vector<std::pair<std::string, double>> ops(times.begin(), times.end());
    std::sort(ops.begin(), ops.end(), [](auto& a, auto& b) { return a.second > b.second; });
    for (const auto& [op, ms] : ops)
      fmt::print("  {:<24} {:>9.3f} ms {:>5.1f} %\n", op, ms, 100 * ms / total(times));
    rows.push_back(
        {{"workload", w.name}, {"title", w.title}, {"live_share", live_share}, {"ms", times}});
  }
  json.write(rows);
}

}  // namespace
}  // namespace sfnn::bench

int main(int argc, char** argv) {
  std::vector<int> workloads{1, 2, 3, 4, 5, 6};
  int repetitions = 15;
  std::string cache = "build/bench-cache", json;
  CLI::App app("Where the time of a workload's step goes, op by op, on one thread.");
  app.add_option("--workload", workloads, "1 to 6; may be repeated")
      ->check(CLI::Range(1, sfnn::bench::kWorkloads));
  app.add_option("--repetitions", repetitions)->check(CLI::Range(1, 100000))->capture_default_str();
  app.add_option("--cache", cache, "Folder for trained networks")->capture_default_str();
  app.add_option("--json", json, "Write the times to this file as well");
  return sfnn::bench::run_program("time_shares", app, argc, argv, [&] {
    sfnn::bench::run(workloads, repetitions, cache, sfnn::bench::JsonFile(json));
  });
}
