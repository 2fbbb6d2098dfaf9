#include "host/train/proposal.hpp"

#include <algorithm>

#include "host/model/initial_params.hpp"

namespace sfnn {
namespace {

PassOptions options_of(bool backward) { return {.backward = backward, .given_gradient = true}; }

}  // namespace

NetworkSpec proposal_network(const NetworkSpec& P, const std::vector<LayerSpec>& hidden) {
  const bool one_hot = row_of(P.output).class_target;
  NetworkSpec R{.D_in = P.D_in + (one_hot ? P.D_out : P.target_width()),
                .hidden = hidden,
                .D_out = 0,
                .output = Output::gaussian};  // its logits as they stand
  for (const LayerSpec& layer : P.hidden) R.D_out += layer.n_s;
  return R;
}

std::vector<float> initial_proposal(const NetworkSpec& R, std::uint64_t seed, double scale) {
  std::vector<float> params = initial_params(R, seed, scale, /*sigma=*/1, kSiteInitProposal);
  const ParamSlot V = ParamLayout(R).V;
  std::fill_n(params.begin() + V.offset, V.size(), 0.0f);
  return params;
}

ProposalPass::ProposalPass(Backend& backend, const NetworkSpec& R, std::int64_t max_examples,
                           bool backward)
    : backend_(backend), layout_(R), pass_(backend, R, options_of(backward), max_examples, 1) {}

std::size_t ProposalPass::bytes(Backend& backend, const NetworkSpec& R, std::int64_t max_examples,
                                bool backward) {
  return Pass::bytes(backend, R, options_of(backward), max_examples, /*M=*/1);
}

ProposalLogits ProposalPass::forward(const Tile& tile, const Pass& P, Output output,
                                     const float* params) {
  const Range range(backend_, "proposal");
  backend_.join_target(
      {.output = output, .x = P.x(tile.N), .y = P.y(tile.N), .out = pass_.x(tile.N)});
  pass_.forward({.first = tile.first, .N = tile.N}, params);
  return {.e = pass_.output(params).o, .bias = layout_.c.in(params).data};
}

void ProposalPass::backward(const Pass& P, const float* params_of_P, const float* params,
                            float* part) {
  const Range range(backend_, "proposal");
  P.proposal_gradient(params_of_P, pass_.output_gradient());
  pass_.backward_from_output(params, part);
}

}  // namespace sfnn
