// Gradients of a mini-batch at weights that stay as they are.
#pragma once

#include <cstdint>
#include <vector>

#include "host/data/dataset.hpp"
#include "host/model/model.hpp"
#include "host/train/batch_gradient.hpp"
#include "host/train/batches.hpp"

namespace sfnn {

// A data set of `count` training examples as a step of training sees them: drawn from all of them,
// binarised, centred and with noise, but only once. Throws ConfigError if there are fewer.
DataSet fixed_batch(const Model&, const TrainOptions&, const DataSet&, std::int64_t count);

// One draw of the mini-batch gradient after another. Draws of different seeds are independent; with
// the same seed, draw r has the same random numbers for every estimator. G1's L_bar is warmed up at
// these weights before the first draw and continues to move: it comes from earlier steps only, so
// two draws stay uncorrelated.
class GradientDraws {
 public:
  // The data must outlive the draws; the weights are shared with the model. options: its epochs and
  // all that makes a step of a gradient are ignored.
  GradientDraws(const Model&, const TrainOptions& options, const DataSet&);

  std::vector<float> next();  // averaged over the batch; laid out by ParamLayout

 private:
  void draw();

  StepNetworks networks_;
  Batches batches_;
  BatchGradient gradient_;
  std::int64_t step_ = 0;
};

// d log P(y|x) of a data set's training examples, averaged, as a sum over all states of the
// stochastic units. Throws ConfigError if they are more than kMaxEnumeratedUnits.
constexpr std::int64_t kMaxEnumeratedUnits = 12;
std::int64_t stochastic_units(const NetworkSpec&);
std::vector<float> exact_gradient(const Model&, const DataSet&);

}  // namespace sfnn
