#include "bench/lib/bound.hpp"

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "bench/lib/clock.hpp"
#include "bench/lib/op_times.hpp"
#include "bench/lib/predicted_step.hpp"
#include "host/devices/registry.hpp"
#include "host/train/evaluate.hpp"

namespace sfnn::bench {
namespace {

constexpr double kLookedUp = 5;  // inputs that one addition stands for

std::vector<Launch> launches_of(const Workload& w, double live_share) {
  if (!w.evaluation) return launches_of_step(w.spec, w.options, Math::fp32, live_share);
  CountingBackend backend;
  const Model model(backend, w.spec, w.params, w.data.units);
  backend.clear();
  evaluate(model, evaluated_examples(w), {.particles = 100});
  return backend.launches();
}

double operations_of(const Launch& launch) {
  if (!launch.product || !launch.product->bits) return launch.operations;
  return launch.operations / kLookedUp;  // an addition takes the time of a multiply-add
}

}  // namespace

StepCosts costs_of(const Workload& w, double live_share) {
  StepCosts costs;
  for (const Launch& launch : launches_of(w, live_share)) costs.operations += operations_of(launch);
  const double parameters = 4.0 * double(ParamLayout(w.spec).size);
  const std::int64_t N = w.evaluation ? w.evaluated : w.options.batch;
  const double batch = double(N * (w.spec.D_in + w.spec.target_width()));
  costs.bytes = (w.evaluation ? 1 : 6) * parameters + batch;
  return costs;
}

double live_share(const Workload& w) {
  if (w.evaluation) return 1;
  const auto backend = make_backend({.device = "cpu", .threads = 1});
  Trainer trainer(*backend, w.spec, timed_options(w), w.data);
  trainer.set_params(w.params);
  OpTimes times;
  backend->set_observer(&times);
  trainer.train_step();
  backend->set_observer(nullptr);
  return times.live_share();
}

double copy_rate(int threads) {
  constexpr std::size_t kBytes = std::size_t(128) << 20;  // each way and thread
  std::vector<double> rates(std::size_t(threads), 0.0);
  std::vector<std::thread> copies;
  for (double& rate : rates) {
    copies.emplace_back([&rate] {
      const std::vector<char> from(kBytes, 1);
      std::vector<char> to(kBytes, 2);
      for (int i = 0; i < 5; ++i) {
        const double start = wall_ms();
        std::memcpy(to.data(), from.data(), kBytes);
        rate = std::max(rate, 2e3 * double(kBytes) / (wall_ms() - start));
      }
    });
  }
  for (std::thread& copy : copies) copy.join();
  double sum = 0;
  for (double rate : rates) sum += rate;
  return sum;
}

}  // namespace sfnn::bench
