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
    const auto whole = [&](std::int64_t i) { return std::abs(std::int64_t(3 * signal(i))); };
    for (std::int64_t i = 0; i < target_width(output, D_out); ++i) {
      switch (output) {
        case Output::softmax:
          y.push_back(float(whole(0) % D_out));
          break;
        case Output::bernoulli:
          y.push_back(float(signal(i) > 0));
          break;
        case Output::gaussian:
        case Output::gaussian_learnt:
        case Output::gaussian_each:
        case Output::gaussian_predicted:
          y.push_back(signal(i));
          break;
        case Output::poisson:
          y.push_back(float(whole(i)));
          break;
      }
    }
  }
  const std::int64_t y_cols = target_width(output, D_out);
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
  data.output = row_of(output).family;
  return data;
}

}  // namespace sfnn
