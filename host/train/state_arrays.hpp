// The arrays that training carries from step to step, listed once. What a checkpoint holds, what
// resuming restores, what the memory plan counts and where bad numbers are looked for follow from
// this list.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/model/network.hpp"
#include "host/train/train_options.hpp"
#include "kernels/estimators.hpp"

namespace sfnn {

inline constexpr const char* kParams = "params";
inline constexpr const char* kAverage = "average";
inline constexpr const char* kBaseline = "baseline";

struct ArraySpec {
  std::string name;       // "params", the optimiser's, "average", "baseline"
  bool by_slot = true;    // laid out as the parameters; false: one run of numbers
  std::int64_t size = 0;  // floats
};

// Of one network. With train.ema the moving average of the parameters; last, if the estimator keeps
// some, the averages behind a moving baseline.
std::vector<ArraySpec> state_arrays(const NetworkSpec&, const EstimatorRow&, const TrainOptions&);

std::size_t bytes_of(const std::vector<ArraySpec>&);

}  // namespace sfnn
