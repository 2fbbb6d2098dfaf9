// What a trained network says of inputs without targets.
#pragma once

#include <cstdint>
#include <sfnn/evaluate.hpp>
#include <span>
#include <vector>

#include "host/data/dataset.hpp"
#include "host/model/model.hpp"

namespace sfnn {

// x: rows of D_in numbers, as the data set would have them, before x_mean is taken off. Throws
// ShapeError if the width differs.
Examples inputs_only(const NetworkSpec&, Columns x, std::int64_t count);

// mean_m E[y|h^m]: probabilities of classes or pixels, or means. [count, D_out]
std::vector<float> mean_outputs(const Model&, const Examples&, const PredictOptions&);

// Turns E[y|h] of M draws, [count, M, D_out] as sample_outputs gives it, into draws of y itself:
// bits, classes ([count, M, 1]), or values with unit-variance noise. same_draws: as in
// PredictOptions.
std::vector<float> draw_outputs(Output, std::vector<float> means, std::int64_t count,
                                std::int64_t M, std::uint64_t seed, bool same_draws = false);

}  // namespace sfnn
