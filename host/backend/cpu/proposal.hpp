// A learned proposal in vectors: the particles' density ratios and the scores of R.
#pragma once

#include "host/backend/backend.hpp"

namespace sfnn::cpu {

void log_ratio(const LogRatioArgs&);
void proposal_grad(const ProposalGradArgs&);
// g += omega_R (h - sigma(r)), as ScoreGradArgs has it.
void add_proposal_scores(const ScoreGradArgs&);

}  // namespace sfnn::cpu
