// Random networks, parameters and batches for the tests. The engine's output is used directly: the
// standard's distributions differ between libraries.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/support/reference.hpp"

namespace sfnn {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  double uniform() { return double(engine_() >> 11) * 0x1p-53; }  // [0, 1)
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  std::int64_t integer(std::int64_t low, std::int64_t high) {  // both included
    return low + std::int64_t(engine_() % std::uint64_t(high - low + 1));
  }
  double normal() {
    return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(2 * M_PI * uniform());
  }
  std::uint64_t word() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

inline std::vector<float> normals(std::int64_t count, std::uint64_t seed, double scale = 1) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = float(scale * random.normal());
  return values;
}

// Biases too; the gaps between slots stay zero. Values are floats, so that the engine sees the
// same.
inline Vector random_params(const NetworkSpec& spec, std::uint64_t seed, double scale = 1.0) {
  Random random(seed);
  const ParamLayout layout(spec);
  Vector params(layout.size, 0.0);
  for (const ParamSlot& slot : layout.slots()) {
    for (std::int64_t e = 0; e < slot.size(); ++e)
      params[slot.offset + e] = double(float(scale * random.normal()));
  }
  return params;
}

// A number that suits the output; Bernoulli's lies anywhere in [0, 1].
inline double random_target(Random& random, Output output, std::int64_t D_out) {
  switch (output) {
    case Output::softmax:
      return double(random.integer(0, D_out - 1));
    case Output::bernoulli:
      return double(float(random.uniform()));
    case Output::gaussian:
    case Output::gaussian_learnt:
    case Output::gaussian_each:
    case Output::gaussian_predicted:
      return double(float(random.normal()));
    case Output::poisson:
      return double(random.integer(0, 9));
  }
  return 0;
}

// Inputs of either sign; targets that suit the output; fair bits.
inline ReferenceBatch random_batch(const NetworkSpec& spec, std::int64_t N, std::int64_t M,
                                   std::uint64_t seed) {
  Random random(seed);
  ReferenceBatch batch{.N = N, .M = M};
  for (std::int64_t e = 0; e < N * spec.D_in; ++e)
    batch.x.push_back(double(float(random.normal())));
  for (std::int64_t e = 0; e < N * spec.target_width(); ++e)
    batch.y.push_back(random_target(random, spec.output, spec.D_out));
  for (const LayerSpec& layer : spec.hidden) {
    batch.bits.emplace_back();
    for (std::int64_t e = 0; e < N * M * layer.n_s; ++e)
      batch.bits.back().push_back(std::uint8_t(random.integer(0, 1)));
  }
  return batch;
}

// Any depth from 0 to max_depth, any kind of layer, any output, now and then an input of width
// zero.
inline NetworkSpec random_network(std::uint64_t seed, std::int64_t max_depth = 3,
                                  std::int64_t max_width = 9) {
  Random random(seed);
  NetworkSpec spec;
  spec.D_in = random.integer(0, max_width);
  spec.output = kOutputs[random.integer(0, std::int64_t(kOutputs.size()) - 1)].id;
  spec.D_out = random.integer(row_of(spec.output).class_target ? 2 : 1, max_width);
  for (std::int64_t left = random.integer(0, max_depth); left > 0; --left) {
    const std::int64_t n = random.integer(1, max_width), extra = random.integer(1, max_width);
    const LayerSpec kinds[] = {{n, 0, false}, {0, n, false}, {n, extra, false}, {n, extra, true}};
    spec.hidden.push_back(kinds[random.integer(0, 3)]);
  }
  return spec;
}

}  // namespace sfnn
