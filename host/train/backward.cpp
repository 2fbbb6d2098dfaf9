// The backward half of a pass: G(o), then layer by layer down to what needs no more.
#include "host/base/error.hpp"
#include "host/train/pass.hpp"

namespace sfnn {

// Particles of no responsibility add nothing to what is proportional to w_bar. Estimators that are
// not (G1, G5) need all of them in the hidden layers; there only the output's own gradient is
// thinned, if w_bar weighs it and nothing flows down.
void Pass::choose_rows() {
  const RowSet all{nullptr, tile_.rows()};
  hidden_rows_ = output_rows_ = all;
  if (options_.drop_below <= 0 || tile_.M == 1) return;
  if (!follows_w_bar(options_.estimator.output_weight)) return;
  const bool follows = !spec_.trains_s() || options_.estimator.follows_w_bar;
  if (!follows && layers_.back().need != Need::nothing) return;
  const RowSet live = backend_.select_rows(
      {.tile = tile_, .w_bar = w_bar_, .threshold = options_.drop_below, .index = live_index_});
  if (live.count == all.count) return;
  output_rows_ = live;
  if (follows) hidden_rows_ = live;
}

void Pass::backward(const float* params, const float* beta, const float* C_hat, float* part) {
  if (part_layout_.beta_size > 0 && !beta)
    throw ShapeError("backward: the estimator takes a beta off, and there is none");
  const Range range(backend_, "backward");
  choose_rows();
  {
    const Range g_o_range(backend_, "g_o");
    const Matrix g_scale = g_scale_.top(output_rows_.count);
    backend_.output_grad({.of = output(params),
                          .weight = output_weight_,
                          .rows = output_rows_,
                          .g_o = g_o_.top(output_rows_.count),
                          .g_scale = g_scale});
    if (layout_.rho.size() > 0)
      backend_.accumulate_column_sums({.g = g_scale, .gb = layout_.rho.in(part).data});
  }
  back_propagate(params, beta, C_hat, part);
}

void Pass::backward_from_output(const float* params, float* part) {
  const Range range(backend_, "backward");
  hidden_rows_ = output_rows_ = {nullptr, tile_.rows()};
  back_propagate(params, nullptr, nullptr, part);
}

// From g_o, which is there, down to the first layer.
void Pass::back_propagate(const float* params, const float* beta, const float* C_hat, float* part) {
  turn_ = 0;
  {
    const Range range(backend_, "output");
    const Flow top{g_o_.top(output_rows_.count), output_rows_, tile_.M > 1, layout_.V.in(params)};
    accumulate_weights(spec_.depth(), top, layout_.V.in(part), layout_.c.in(part).data);
    flows_.assign(1, top);
  }
  for (std::int64_t l = spec_.depth() - 1; l >= 0; --l) {
    backward_layer(l, params, beta, C_hat, part);
  }
}

void Pass::proposal_gradient(const float* params, const Matrix& g_e) const {
  for (std::int64_t l = 0; l < spec_.depth(); ++l) {
    if (!spec_.hidden[l].samples()) continue;
    backend_.proposal_grad({.tile = tile_,
                            .a = a_s(l),
                            .b = layout_.hidden[l].b_s.in(params).data,
                            .s = s(l),
                            .R = proposal(l),
                            .omega_R = omega_R_,
                            .g_e = g_e});
  }
}

// Turns the flows out of the layer above into the layer's own gradients and into the flows that
// leave it.
void Pass::backward_layer(std::int64_t l, const float* params, const float* beta,
                          const float* C_hat, float* part) {
  const Range range(backend_, layers_[l].name.c_str());
  const LayerSpec& spec = spec_.hidden[l];
  const Matrix g = arrive(l);
  flows_.clear();
  Flow flow_d;
  if (spec.n_d > 0 && g.data) {
    flow_d = backward_d(l, params, g, part);
    flows_.push_back(flow_d);
  }
  if (!spec.trains_s()) return;
  Flow flow_s;
  switch (options_.estimator.kind) {
    case EstimatorKind::path:
      if (!g.data) return;
      flow_s = backward_path(l, params, g, flow_d);
      break;
    case EstimatorKind::score:
      // Reaches deterministic units, and no sampled ones: they ask for none.
      flow_s = backward_score(l, params, beta, C_hat, part);
      break;
  }
  const LayerSlots& slots = layout_.hidden[l];
  accumulate_weights(l, flow_s, slots.W_s.in(part), slots.b_s.in(part).data);
  flows_.push_back(flow_s);
}

// Deterministic units: plain back-propagation, whatever the estimator.
Pass::Flow Pass::backward_d(std::int64_t l, const float* params, Matrix g, float* part) {
  const LayerSlots& slots = layout_.hidden[l];
  const Layer& layer = layers_[l];
  const bool shared = layer.output_shared;
  Flow flow{g, shared ? all_examples() : hidden_rows_, !shared && tile_.M > 1,
            slots.W_d.in(params)};
  backend_.deterministic_grad({.d = layer.d.top(shared ? tile_.N : tile_.rows()),
                               .rows = flow.rows,
                               .g = g,
                               .activation = spec_.hidden[l].activation});
  if (spec_.hidden[l].samples())
    backend_.accumulate_outer({.z = s(l), .rows = flow.rows, .g = g, .gW = slots.U.in(part)});
  if (layer.input_shared) flow = summed(flow, sums_[0]);
  accumulate_weights(l, flow, slots.W_d.in(part), slots.b_d.in(part).data);
  return flow;
}

// Stochastic units of a path estimator. If the particles share a, they are summed before e is
// applied, unless e is each particle's own.
Pass::Flow Pass::backward_path(std::int64_t l, const float* params, const Matrix& g,
                               const Flow& flow_d) {
  const LayerSpec& spec = spec_.hidden[l];
  const LayerSlots& slots = layout_.hidden[l];
  const bool shared = layers_[l].input_shared;
  const bool summed_first = shared && !options_.estimator.weight_per_particle();
  const RowSet rows = summed_first ? all_examples() : hidden_rows_;
  Matrix g_s = g;  // G(s)
  if (spec.n_d > 0) {
    g_s = next_gradient(rows.count, spec.n_s);
    // g is by now the gradient of each particle's d, flow_d their sum if the particles share z.
    backend_.multiply_transposed(
        {.g = summed_first ? flow_d.g : g, .W = slots.U.in(params), .out = g_s});
  }
  backend_.path_grad({.rule = options_.estimator.path,
                      .tile = tile_,
                      .a = a_s(l),
                      .b = slots.b_s.in(params).data,
                      .rows = rows,
                      .g = g_s,
                      .s = s(l),
                      .draw = draw(l),
                      .T = options_.T});
  const Flow flow{g_s, rows, !summed_first && tile_.M > 1, slots.W_s.in(params)};
  return shared ? summed(flow, sums_[1]) : flow;
}

// Stochastic units of a score estimator. If the particles share a, all is summed over them at once.
Pass::Flow Pass::backward_score(std::int64_t l, const float* params, const float* beta,
                                const float* C_hat, float* part) {
  const LayerSlots& slots = layout_.hidden[l];
  const float* b = slots.b_s.in(params).data;
  const bool shared = layers_[l].input_shared;
  const RowSet rows = shared ? all_examples() : hidden_rows_;
  const Matrix g = next_gradient(rows.count, spec_.hidden[l].n_s);
  const bool through_R = R_.e.data && options_.proposal.rule == ProposalRule::bound;
  backend_.score_grad({.tile = tile_,
                       .a = a_s(l),
                       .b = b,
                       .s = s(l),
                       .omega = omega_,
                       .beta = beta ? beta + part_layout_.beta_offset[l] : nullptr,
                       .rows = rows,
                       .g = g,
                       .R = proposal(l),
                       .omega_R = through_R ? omega_R_ : nullptr});
  if (options_.estimator.has_moving_state()) {
    backend_.accumulate_baseline(
        {.tile = tile_,
         .a = a_s(l),
         .b = b,
         .s = s(l),
         .C_hat = C_hat,
         .sums = part + part_layout_.gradient_size + part_layout_.baseline_offset[l]});
  }
  return {g, rows, !shared && tile_.M > 1, slots.W_s.in(params)};
}

void Pass::accumulate_weights(std::int64_t l, const Flow& flow, Matrix gW, float* gb) {
  backend_.accumulate_outer({.z = input(l), .rows = flow.rows, .g = flow.g, .gW = gW});
  backend_.accumulate_column_sums({.g = flow.g, .gb = gb});
}

// The gradient of layer l's output in the form that it needs; no data if it needs none or none
// comes.
Matrix Pass::arrive(std::int64_t l) {
  const Need need = layers_[l].need;
  if (need == Need::nothing || flows_.empty()) return {};
  const std::int64_t rows = need == Need::sum ? tile_.N : hidden_rows_.count;
  const Matrix g = next_gradient(rows, spec_.hidden[l].width());
  Write write = Write::set;
  for (const Flow& flow : flows_) {
    // sum_m (g^m W^T) = (sum_m g^m) W^T: N rows instead of N*M
    const Flow arriving = need == Need::sum ? summed(flow, sums_[1]) : flow;
    backend_.multiply_transposed({.g = arriving.g, .W = arriving.W, .out = g, .write = write});
    write = Write::add;
  }
  return g;
}

Pass::Flow Pass::summed(const Flow& flow, const Matrix& buffer) const {
  if (!flow.per_particle) return flow;
  const Matrix sum{buffer.data, tile_.N, flow.g.cols};
  backend_.sum_particles({.tile = tile_, .rows = flow.rows, .g = flow.g, .out = sum});
  return {sum, all_examples(), false, flow.W};
}

Matrix Pass::next_gradient(std::int64_t rows, std::int64_t cols) {
  Matrix g = gradients_[turn_];
  turn_ = (turn_ + 1) % 3;
  return {g.data, rows, cols};
}

}  // namespace sfnn
