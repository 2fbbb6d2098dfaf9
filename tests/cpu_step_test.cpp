// Whole training steps on the CPU backend: the same bits for any number of threads, and nothing
// allocated once a run is under way.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "host/backend/cpu/cpu_backend.hpp"
#include "host/train/trainer.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/random.hpp"

namespace {

std::atomic<std::int64_t> allocations{0};

void* counted(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  void* data = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (!data) throw std::bad_alloc();
  return data;
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, std::size_t(alignment));
}
void operator delete(void* data) noexcept { std::free(data); }
void operator delete(void* data, std::size_t) noexcept { std::free(data); }
void operator delete(void* data, std::align_val_t) noexcept { std::free(data); }
void operator delete(void* data, std::size_t, std::align_val_t) noexcept { std::free(data); }

namespace sfnn {
namespace {

DataSet random_data(const NetworkSpec& spec, std::int64_t count) {
  Random random(5);
  DataSet data;
  data.D_in = spec.D_in;
  data.D_out = spec.D_out;
  data.output = spec.output;
  data.train.count = count;
  const auto fill = [&](Columns& columns, std::int64_t cols) {
    columns.cols = cols;
    std::vector<float> values;
    for (std::int64_t e = 0; e < count * cols; ++e) values.push_back(float(random.uniform()));
    columns.values = std::move(values);
  };
  fill(data.train.x, spec.D_in);
  fill(data.train.y, spec.D_out);
  return data;
}

const NetworkSpec kSpec = network(37, {"70s", "20s+33d", "65s"}, 41, Output::bernoulli);

TEST(CpuStep, HasTheSameBitsForAnyNumberOfThreads) {
  const DataSet data = random_data(kSpec, 250);
  for (Estimator estimator : {Estimator::G1, Estimator::G3, Estimator::G5}) {
    std::vector<float> expected;
    for (int threads : {1, 2, 7}) {
      CpuBackend backend(threads);
      Trainer trainer(backend, kSpec,
                      {.estimator = estimator, .particles = 11, .batch = 90, .tiling = {9, 6}},
                      data);
      for (int step = 0; step < 6; ++step) trainer.train_step();
      TrainerState state = trainer.state();
      state.params.insert(state.params.end(), state.baseline.begin(), state.baseline.end());
      if (threads == 1) expected = state.params;
      EXPECT_EQ(state.params, expected) << info(estimator).name << ", " << threads << " threads";
    }
    EXPECT_NE(expected, std::vector<float>(expected.size(), 0.0f));
  }
}

TEST(CpuStep, AllocatesNothing) {
  const DataSet data = random_data(kSpec, 800);
  for (Estimator estimator : {Estimator::G1, Estimator::G3, Estimator::G4}) {
    CpuBackend backend(1);
    Trainer trainer(backend, kSpec,
                    {.estimator = estimator, .particles = 11, .batch = 80, .tiling = {10, 4}},
                    data);
    for (int step = 0; step < 2; ++step) trainer.train_step();
    const std::int64_t before = allocations;
    for (int step = 0; step < 6; ++step) trainer.train_step();  // of the same epoch
    EXPECT_EQ(allocations - before, 0) << info(estimator).name;
  }
}

}  // namespace
}  // namespace sfnn
