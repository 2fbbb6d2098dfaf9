// The oracle of a learned proposal: what a pass with particles of R computes, in double precision,
// written from the densities themselves. And the engine's pass to compare it with.
#pragma once

#include <cstdint>
#include <vector>

#include "host/backend/backend.hpp"
#include "host/train/pass.hpp"
#include "tests/support/reference.hpp"

namespace sfnn {

// P with its R: both networks and their weights.
struct ProposalNetworks {
  NetworkSpec P, R;
  Vector params_P, params_R;
};

struct ProposalCase {
  ProposalRule rule = ProposalRule::rws;
  std::int64_t from_P = 0;
  // rws: what is taken off the weights of P's particles and of R's, for P's gradient and for R's.
  // Only the first and the last leave the means as they are.
  double c_P_off_P = 0, c_P_off_R = 0, c_R_off_P = 0, c_R_off_R = 0;
};

struct ProposalResult {
  Vector log_w, w_bar;            // [N*M]
  Vector C_hat;                   // [N]
  Vector log_drawn;               // [N*M]: log of what each particle is drawn from, P or R
  Vector gradient_P, gradient_R;  // sums over the examples, in the order of ParamLayout
};

// The batch's bits are what the particles drew.
ProposalResult reference_proposal(const ProposalNetworks&, const ReferenceBatch&,
                                  const ProposalCase&);

// e of every stochastic unit for example n.
Vector reference_shifts(const ProposalNetworks&, const ReferenceBatch&, std::int64_t n);

struct EngineProposal {
  std::vector<float> log_w, w_bar, C_hat;
  std::vector<float> gradient_P, gradient_R;
  HiddenBits bits;
};

struct EngineProposalOptions {
  PassOptions pass;        // with its proposal
  bool draw = false;       // draw the bits instead of taking the batch's
  std::int64_t tile = 0;   // examples; 0: all in one
  bool without_R = false;  // the same pass as if there were no R
};

EngineProposal run_proposal(Backend&, const ProposalNetworks&, const ReferenceBatch&,
                            const EngineProposalOptions&);

// The options of the engine's pass for a rule, as training has them.
PassOptions pass_of(ProposalRule, std::int64_t from_P, double c);

}  // namespace sfnn
