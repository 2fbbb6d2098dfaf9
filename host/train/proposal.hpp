// The learned proposal R(h | x, y) as a network of its own: it reads x and y and says, for every
// stochastic unit of P, by how much its logit differs from P's. See kernels/proposal.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "host/backend/backend.hpp"
#include "host/model/model.hpp"
#include "host/train/pass.hpp"

namespace sfnn {

// hidden: deterministic layers, or none.
NetworkSpec proposal_network(const NetworkSpec& P, const std::vector<LayerSpec>& hidden);

// Weights with which R = P: nothing but its hidden layers is drawn.
std::vector<float> initial_proposal(const NetworkSpec& R, std::uint64_t seed, double scale);

// A pass of R beside one of P, over the same tiles.
class ProposalPass {
 public:
  ProposalPass(Backend&, const NetworkSpec& R, std::int64_t max_examples, bool backward);
  static std::size_t bytes(Backend&, const NetworkSpec& R, std::int64_t max_examples,
                           bool backward);

  // e of a tile, whose x and y are in P's pass by now.
  ProposalLogits forward(const Tile&, const Pass& P, Output, const float* params);
  // Adds R's gradient to `part`, after P's `weigh`.
  void backward(const Pass& P, const float* params_of_P, const float* params, float* part);

  std::size_t workspace_bytes() const { return pass_.workspace_bytes(); }

 private:
  Backend& backend_;
  ParamLayout layout_;
  Pass pass_;
};

}  // namespace sfnn
