#include "bench/lib/cuda_timing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "bench/lib/predicted_step.hpp"
#include "host/base/error.hpp"
#include "host/devices/registry.hpp"

namespace sfnn::bench {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// tf32 leaves ten bits of an operand's significand, which is not a mistake.
double tolerance(Math math) { return math == Math::tf32 ? 4e-3 : 1e-4; }

// Milliseconds between two events around the work.
double event_ms(cudaStream_t stream, FunctionRef<void()> work) {
  const Event begin = make_event(), end = make_event();
  SFNN_CUDA_CHECK(cudaEventRecord(begin.get(), stream));
  work();
  SFNN_CUDA_CHECK(cudaEventRecord(end.get(), stream));
  SFNN_CUDA_CHECK(cudaEventSynchronize(end.get()));
  float ms = 0;
  SFNN_CUDA_CHECK(cudaEventElapsedTime(&ms, begin.get(), end.get()));
  return ms;
}

double median_round_ms(cudaStream_t stream, int rounds, FunctionRef<void()> round) {
  for (int warm_up = 0; warm_up < 3; ++warm_up) round();  // the second records, the third replays
  std::vector<double> times;
  for (int k = 0; k < rounds; ++k) times.push_back(event_ms(stream, round));
  return median(std::move(times));
}

// Grey noise: blank pictures would let the weights' gradients vanish.
DataSet noise_data(const NetworkSpec& spec, std::int64_t count) {
  std::uint32_t state = 1;
  const auto noise = [&](std::int64_t size, std::uint32_t levels) {
    std::vector<std::uint8_t> values(size);
    for (std::uint8_t& value : values) {
      state = state * 1664525 + 1013904223;
      value = std::uint8_t((state >> 16) % levels);
    }
    return values;
  };
  const bool classes = row_of(spec.output).class_target;
  DataSet data{.D_in = spec.D_in, .D_out = spec.D_out, .output = spec.output};
  data.train.count = count;
  data.train.x = {noise(count * spec.D_in, 256), spec.D_in, 1 / 255.0f};
  if (classes) {
    data.train.y = {noise(count, std::uint32_t(spec.D_out)), 1, 1.0f};
  } else {
    data.train.y = {noise(count * spec.D_out, 256), spec.D_out, 1 / 255.0f};
  }
  return data;
}

// The arrays of a product: its two operands and its result. Random as a step's are: a device that
// multiplies ones draws less power, and clocks higher.
OpCase case_of(const Product& p) {
  const bool outer = p.role == ProductRole::weight_gradient;
  const bool transposed = p.role == ProductRole::carries_back;
  const auto first = p.bits ? random_bits : random_reals;
  return {.name = "product",
          .arrays = {outer ? first(p.k, p.m) : first(p.m, p.k),
                     transposed ? random_reals(p.n, p.k) : random_reals(p.k, p.n),
                     {Array::Kind::real, p.m, p.n, {}}},
          .run = [p](Backend& backend, const Operands& in) {
            const ConstOperand z = p.bits ? ConstOperand(in.bits(0)) : in.matrix(0);
            switch (p.role) {
              case ProductRole::decides_draws:
                return backend.multiply({z, in.matrix(1), in.matrix(2)});
              case ProductRole::carries_back:
                return backend.multiply_transposed({in.matrix(0), in.matrix(1), in.matrix(2)});
              case ProductRole::weight_gradient:
                return backend.accumulate_outer({z, {nullptr, p.k}, in.matrix(1), in.matrix(2)});
            }
          }};
}

}  // namespace

double median_ms(CudaBackend& gpu, const Repetitions& repetitions, FunctionRef<void()> work) {
  const std::unique_ptr<StepRunner> runner = gpu.make_step_runner();
  const auto calls = [&] {
    for (int k = 0; k < repetitions.calls; ++k) work();
  };
  const double ms =
      median_round_ms(gpu.stream(), repetitions.rounds, [&] { runner->run(/*variant=*/0, calls); });
  return ms / repetitions.calls;
}

OpTime time_op(const OpCase& op, CudaBackend& gpu, Math math, const Repetitions& repetitions) {
  const auto cpu = make_backend({.device = "cpu", .plain = true, .threads = 1});
  const std::string wrong = op.difference(gpu, *cpu, tolerance(math));
  if (!wrong.empty()) throw Error(wrong);
  OpTime time;
  CountingBackend counting(math, /*keep=*/0.5);
  {
    const Operands operands(counting, op.arrays);
    counting.clear();
    op.run(counting, operands);
    for (const Launch& launch : counting.launches()) time.bytes += launch.bytes;
  }
  const Operands operands(gpu, op.arrays);
  time.ms = median_ms(gpu, repetitions, [&] { op.run(gpu, operands); });
  return time;
}

// Small, so that no draw falls within rounding of its probability: such a bit differs rightly, and
// everything after it. Within tf32's rounding one may well fall: there, units that draw have no
// weights.
void check_steps(CudaBackend& gpu, Math math) {
  NetworkSpec spec{.D_in = 12, .hidden = {{.n_s = 10}, {.n_s = 4, .n_d = 6}}, .D_out = 12};
  if (math == Math::tf32) spec.hidden = {{.n_d = 10}, parse_layer("4n+6d")};
  const DataSet data = noise_data(spec, 11);
  const auto train = [&](Backend& backend) {
    Trainer trainer(backend, spec, {.particles = 4, .batch = 4, .epochs = 2}, data);
    while (trainer.step() < trainer.total_steps()) trainer.train_step();
    return trainer.state().P().array("params");
  };
  const auto cpu = make_backend({.device = "cpu", .plain = true, .threads = 1});
  const std::vector<float> actual = train(gpu), expected = train(*cpu);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::abs(actual[i] - expected[i]) <= tolerance(math)) continue;
    throw Error(fmt::format("after six steps parameter {} is {} and should be {}", i, actual[i],
                            expected[i]));
  }
}

double step_ms(CudaBackend& gpu, const NetworkSpec& spec, TrainOptions options,
               const Repetitions& repetitions) {
  constexpr std::int64_t kStepsPerEpoch = 100;  // one shuffle per epoch
  options.learning_rate = 0;
  options.epochs = 1000000;
  options.drop_below = 0;
  const DataSet data = noise_data(spec, kStepsPerEpoch * options.batch);
  Trainer trainer(gpu, spec, options, data);
  const auto steps = [&] {
    for (int k = 0; k < repetitions.calls; ++k) trainer.train_step();
  };
  return median_round_ms(gpu.stream(), repetitions.rounds, steps) / repetitions.calls;
}

double products_ms(CudaBackend& gpu, const NetworkSpec& spec, const TrainOptions& options,
                   const Repetitions& repetitions) {
  std::vector<OpCase> cases;
  for (const Launch& launch : launches_of_step(spec, options, Math::fp32, /*keep=*/1))
    if (launch.product) cases.push_back(case_of(*launch.product));
  std::vector<Operands> operands;
  for (const OpCase& product : cases) operands.emplace_back(gpu, product.arrays);
  return median_ms(gpu, repetitions, [&] {
    for (std::size_t k = 0; k < cases.size(); ++k) cases[k].run(gpu, operands[k]);
  });
}

}  // namespace sfnn::bench
