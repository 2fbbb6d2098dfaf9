// Arguments of the ops: one plain struct per op, the same for every backend, also passed by value
// to kernels. kName is the op's name in messages and timings.
#pragma once

#include <type_traits>

#include "kernels/backward_args.hpp"
#include "kernels/data_args.hpp"
#include "kernels/forward_args.hpp"
#include "kernels/product_args.hpp"
#include "kernels/proposal_args.hpp"
#include "kernels/tile.hpp"
#include "kernels/update_args.hpp"

namespace sfnn {

// Every op, by its arguments: what is to be made for each of them is made from this list.
template <class... Args>
struct OpList {};
using AllOps =
    OpList<FillZeroArgs, GatherArgs, ShuffleArgs, MultiplyArgs, MultiplyTransposedArgs,
           AccumulateOuterArgs, SampleHiddenArgs, ActivateArgs, OutputLogProbArgs,
           AccumulateMeanOutputArgs, ParticleWeightsArgs, SelectRowsArgs, AccumulateMetricsArgs,
           JoinTargetArgs, LogRatioArgs, ProposalWeightsArgs, ProposalGradArgs, OutputGradArgs,
           PathGradArgs, ScoreGradArgs, MakeBetaArgs, DeterministicGradArgs, SumParticlesArgs,
           AccumulateColumnSumsArgs, AccumulateBaselineArgs, UpdateArgs, SquareSumsArgs,
           GradientNormArgs, BaselineUpdateArgs>;

// What an op returns: nothing, unless its struct names a Result.
template <class Args, class = void>
struct OpResultOf {
  using type = void;
};
template <class Args>
struct OpResultOf<Args, std::void_t<typename Args::Result>> {
  using type = typename Args::Result;
};
template <class Args>
using OpResult = typename OpResultOf<Args>::type;

}  // namespace sfnn
