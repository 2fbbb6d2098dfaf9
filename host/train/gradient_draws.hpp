// Gradients of a mini-batch at weights that stay as they are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "host/backend/backend.hpp"
#include "host/data/dataset.hpp"
#include "host/model/network.hpp"
#include "host/train/trainer.hpp"

namespace sfnn {

// A data set of `count` training examples as a step of training sees them: drawn from all of them,
// binarised, centred and with noise, but only once. Throws ConfigError where there are not so many.
DataSet fixed_batch(Backend&, const NetworkSpec&, const TrainOptions&, const DataSet&,
                    std::int64_t count);

// One draw of the mini-batch gradient after another, by the trainer's own step: a learning rate and
// a momentum of zero leave the weights alone and make the velocity the gradient. Draws of different
// seeds are independent; with the same seed, draw r has the same random numbers for every
// estimator. G1's L_bar is warmed up at these weights before the first draw and goes on moving: it
// comes from earlier steps only, so two draws stay uncorrelated.
class GradientDraws {
 public:
  // The data must outlive the draws. options: its epochs, rate and momentum are ignored.
  GradientDraws(Backend&, const NetworkSpec&, TrainOptions options, const DataSet&,
                std::span<const float> params);

  std::vector<float> next();  // averaged over the batch; laid out by ParamLayout

 private:
  Trainer trainer_;
};

// d log P(y|x) of a data set's training examples, averaged, as a sum over all states of the
// stochastic units. Throws ConfigError where they are more than kMaxEnumeratedUnits.
constexpr std::int64_t kMaxEnumeratedUnits = 12;
std::int64_t stochastic_units(const NetworkSpec&);
std::vector<float> exact_gradient(Backend&, const NetworkSpec&, const DataSet&,
                                  std::span<const float> params);

}  // namespace sfnn
