// Hidden units in vectors: activations, gradients by estimator, and sums over rows.
#pragma once

#include "host/backend/backend.hpp"

namespace sfnn::cpu {

void activate(const Tile&, ConstMatrix shared, const float* b, Matrix d);
void hidden_grad(const HiddenGradArgs&);
void deterministic_grad(ConstMatrix d, RowSet rows, Matrix g);
void sum_particles(const Tile&, RowSet rows, ConstMatrix g, Matrix out);
void accumulate_column_sums(ConstMatrix g, float* gb);
void accumulate_baseline(const Tile&, ConstMatrix a, const float* b, ConstBits s,
                         const float* C_hat, float* sums);

}  // namespace sfnn::cpu
