// A small data set for tests of training: random inputs, targets that depend on them.
#pragma once

#include "host/data/dataset.hpp"
#include "tests/support/random.hpp"

namespace sfnn {

inline Examples small_examples(std::int64_t count, std::int64_t D_in, std::int64_t D_out,
                               Output output, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> x(count * D_in), y;
  for (float& value : x) value = float(random.normal());
  for (std::int64_t n = 0; n < count; ++n) {
    const auto signal = [&](std::int64_t i) {
      return D_in > 0 ? x[n * D_in + i % D_in] : float(random.normal());
    };
    if (output == Output::softmax) {
      y.push_back(float(std::abs(std::int64_t(3 * signal(0))) % D_out));
    } else {
      for (std::int64_t i = 0; i < D_out; ++i) {
        y.push_back(output == Output::bernoulli ? float(signal(i) > 0) : signal(i));
      }
    }
  }
  const std::int64_t y_cols = output == Output::softmax ? 1 : D_out;
  return {.count = count, .x = {.values = x, .cols = D_in}, .y = {.values = y, .cols = y_cols}};
}

inline DataSet small_data(std::int64_t count, std::int64_t D_in, std::int64_t D_out, Output output,
                          std::uint64_t seed = 1) {
  DataSet data;
  data.name = "small";
  data.train = small_examples(count, D_in, D_out, output, seed);
  data.test = small_examples(count / 2 + 1, D_in, D_out, output, seed + 1);
  data.D_in = D_in;
  data.D_out = D_out;
  data.output = output;
  return data;
}

}  // namespace sfnn
