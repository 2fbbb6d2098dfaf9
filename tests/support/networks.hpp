// Small networks written in one line.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include "host/model/network.hpp"

namespace sfnn {

inline NetworkSpec network(std::int64_t D_in, std::initializer_list<const char*> layers,
                           std::int64_t D_out, Output output) {
  NetworkSpec spec{.D_in = D_in, .hidden = {}, .D_out = D_out, .output = output};
  for (const char* layer : layers) spec.hidden.push_back(parse_layer(layer));
  return spec;
}

// For suites that run over the outputs: a newcomer in the table is tested at once.
inline auto every_output() {
  std::vector<Output> outputs;
  for (const OutputRow& row : kOutputs) outputs.push_back(row.id);
  return testing::ValuesIn(outputs);
}
// GoogleTest takes letters, digits and underscores only.
inline std::string output_name(const testing::TestParamInfo<Output>& info) {
  std::string name(to_string(info.param));
  std::ranges::replace(name, '-', '_');
  return name;
}

}  // namespace sfnn
