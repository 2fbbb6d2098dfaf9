// Hidden units in vectors: activations, their gradients, and sums over rows.
#pragma once

#include "host/backend/backend.hpp"

namespace sfnn::cpu {

void activate(const ActivateArgs&);
void path_grad(const PathGradArgs&, const DrawKey&);
void score_grad(const ScoreGradArgs&);
void deterministic_grad(const DeterministicGradArgs&);
void sum_particles(const SumParticlesArgs&);
void accumulate_column_sums(const AccumulateColumnSumsArgs&);
void accumulate_baseline(const AccumulateBaselineArgs&);

}  // namespace sfnn::cpu
