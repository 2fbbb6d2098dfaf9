// Whether the operands of an op fit together: shapes, null pointers, alignment and overlap, the
// same for every backend. Throws ShapeError, which names the op and what does not fit.
//
// Outputs must not overlap inputs, unless the op is in place by its description. Alignment is what
// kernels rely on: numbers lie on a border of their own size, packed bits on one of 8 bytes, and
// what is read or written four at a time on one of 16.
#pragma once

#include <cstddef>

#include "kernels/args.hpp"

namespace sfnn {

class Backend;  // knows how many bytes its bits take, and whether it reads row counts itself

void check(const Backend&, const FillZeroArgs&);
void check(const Backend&, const GatherArgs&);
void check(const Backend&, const ShuffleArgs&);
void check(const Backend&, const MultiplyArgs&);
void check(const Backend&, const MultiplyTransposedArgs&);
void check(const Backend&, const AccumulateOuterArgs&);
void check(const Backend&, const SampleHiddenArgs&);
void check(const Backend&, const ActivateArgs&);
void check(const Backend&, const OutputLogProbArgs&);
void check(const Backend&, const AccumulateMeanOutputArgs&);
void check(const Backend&, const ParticleWeightsArgs&);
void check(const Backend&, const SelectRowsArgs&);
void check(const Backend&, const AccumulateMetricsArgs&);
void check(const Backend&, const JoinTargetArgs&);
void check(const Backend&, const LogRatioArgs&);
void check(const Backend&, const ProposalWeightsArgs&);
void check(const Backend&, const ProposalGradArgs&);
void check(const Backend&, const OutputGradArgs&);
void check(const Backend&, const PathGradArgs&);
void check(const Backend&, const ScoreGradArgs&);
void check(const Backend&, const MakeBetaArgs&);
void check(const Backend&, const DeterministicGradArgs&);
void check(const Backend&, const SumParticlesArgs&);
void check(const Backend&, const AccumulateColumnSumsArgs&);
void check(const Backend&, const AccumulateBaselineArgs&);
void check(const Backend&, const UpdateArgs&);
void check(const Backend&, const SquareSumsArgs&);
void check(const Backend&, const GradientNormArgs&);
void check(const Backend&, const BaselineUpdateArgs&);

// A copy between `count` bytes of the host, each 0 or 1, and the bits.
void check_bits_copy(const char* op, ConstBits, std::size_t count);

}  // namespace sfnn
