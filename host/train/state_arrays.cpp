#include "host/train/state_arrays.hpp"

#include "host/train/pass.hpp"

namespace sfnn {

std::vector<ArraySpec> state_arrays(const NetworkSpec& spec, const EstimatorRow& estimator,
                                    const TrainOptions& options) {
  const PartLayout layout(spec, estimator);
  std::vector<ArraySpec> arrays{{kParams, true, layout.gradient_size}};
  const OptimizerRow& optimizer = row_of(options.optimizer);
  for (int a = 0; a < optimizer.arrays(); ++a)
    arrays.push_back({std::string(optimizer.array_names[a]), true, layout.gradient_size});
  if (options.ema > 0) arrays.push_back({kAverage, true, layout.gradient_size});
  if (layout.baseline_size > 0) arrays.push_back({kBaseline, false, layout.baseline_size});
  return arrays;
}

std::size_t bytes_of(const std::vector<ArraySpec>& arrays) {
  std::size_t floats = 0;
  for (const ArraySpec& array : arrays) floats += std::size_t(array.size);
  return sizeof(float) * floats;
}

}  // namespace sfnn
