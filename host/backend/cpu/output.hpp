// The output distributions in vectors; per element as kernels/output.hpp has them.
#pragma once

#include "host/backend/backend.hpp"

namespace sfnn::cpu {

void output_log_prob(const OutputArgs&, float* log_w);
void accumulate_mean_output(const OutputArgs&, Matrix mean);
void output_grad(const OutputArgs&, const float* w_bar, RowSet rows, Matrix g_o);
void particle_weights(const Tile&, const float* log_w, float* w_bar, float* C_hat, float* ess);

}  // namespace sfnn::cpu
