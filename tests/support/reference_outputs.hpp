// The outputs of the reference: each by its own formula; nothing comes from the engine's table.
#pragma once

#include "host/model/network.hpp"
#include "tests/support/reference.hpp"

namespace sfnn {

struct ReferenceModel {
  const NetworkSpec& spec;
  ParamLayout layout;
  Vector params;
};

double reference_sigmoid(double a);
double reference_log_sigmoid(double a);

std::int64_t reference_target_width(const NetworkSpec&);

// Eq. (2), (3), Gaussians and counts: log P(y | o).
double reference_log_prob(const ReferenceModel&, const Vector& o, const Vector& y);

// d log P of one particle by its logits and by rho, and the sizes of the terms of each.
struct OutputScores {
  Vector o, o_size;
  Vector rho, rho_size;
};
OutputScores reference_output_scores(const ReferenceModel&, const Vector& o, const Vector& y);

}  // namespace sfnn
