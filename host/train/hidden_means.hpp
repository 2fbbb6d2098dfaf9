// What the hidden units of a trained network do with each example.
#pragma once

#include <cstdint>
#include <sfnn/evaluate.hpp>
#include <vector>

#include "host/data/dataset.hpp"
#include "host/model/model.hpp"

namespace sfnn {

// Columns of hidden_means: all units, layer by layer, in each layer the stochastic ones first.
std::int64_t hidden_units(const NetworkSpec&);

// The mean activation of each unit over options.particles draws of the hidden units, [count,
// hidden_units]: p = sigma(a) of a stochastic unit (1/2 if it is fixed noise), the value of a
// deterministic one. Sums are made example by example, in the order of the particles.
std::vector<float> hidden_means(const Model&, const Examples&, const PredictOptions&);

}  // namespace sfnn
