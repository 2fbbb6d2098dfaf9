// Hidden units in vectors: activations, gradients by estimator, and sums over rows.
#pragma once

#include "host/backend/backend.hpp"

namespace sfnn::cpu {

void activate(const ActivateArgs&);
void hidden_grad(const HiddenGradArgs&);
void deterministic_grad(const DeterministicGradArgs&);
void sum_particles(const SumParticlesArgs&);
void accumulate_column_sums(const AccumulateColumnSumsArgs&);
void accumulate_baseline(const AccumulateBaselineArgs&);

}  // namespace sfnn::cpu
