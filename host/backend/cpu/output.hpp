// The output distributions in vectors; per element as kernels/output.hpp has them.
#pragma once

#include "host/backend/backend.hpp"

namespace sfnn::cpu {

void output_log_prob(const OutputLogProbArgs&);
void accumulate_mean_output(const AccumulateMeanOutputArgs&);
void output_grad(const OutputGradArgs&);
void particle_weights(const ParticleWeightsArgs&);

}  // namespace sfnn::cpu
