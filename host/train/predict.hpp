// What a trained network says of inputs without targets.
#pragma once

#include <cstdint>
#include <sfnn/evaluate.hpp>
#include <span>
#include <vector>

#include "host/data/dataset.hpp"
#include "host/model/model.hpp"
#include "host/train/evaluate.hpp"

namespace sfnn {

// x: rows of D_in numbers, as the data set would have them, in their own units. Throws
// ShapeError if the width differs.
Examples inputs_only(const NetworkSpec&, Columns x, std::int64_t count);

// mean_m E[y|h^m]: probabilities of classes or pixels, rates, or means. [count, D_out]
std::vector<float> mean_outputs(const Model&, const Examples&, const PredictOptions&);

// Turns what sample_outputs says of `count` examples into draws of y itself: bits, classes
// ([count, M, 1]), counts, or values with the noise of their sigma. same_draws: as in
// PredictOptions.
std::vector<float> draw_outputs(Output, SampledOutputs, std::int64_t count, std::int64_t M,
                                std::uint64_t seed, bool same_draws = false);

}  // namespace sfnn
