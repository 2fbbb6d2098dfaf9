#include "host/train/pass.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/base/error.hpp"

namespace sfnn {
namespace {

// Hands out aligned pieces of one block; with a null base it only counts.
class Carver {
 public:
  explicit Carver(std::byte* base) : base_(base) {}

  std::byte* bytes(std::size_t count) {
    std::byte* piece = base_ ? base_ + used_ : nullptr;
    used_ += (count + 63) / 64 * 64;
    return piece;
  }
  Matrix matrix(std::int64_t rows, std::int64_t cols) {
    return {reinterpret_cast<float*>(bytes(sizeof(float) * rows * cols)), rows, cols};
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* base_;
  std::size_t used_ = 0;
};

}  // namespace

PartLayout::PartLayout(const NetworkSpec& spec, const EstimatorRow& estimator)
    : gradient_size(ParamLayout(spec).size) {
  for (const LayerSpec& layer : spec.hidden) {
    baseline_offset.push_back(baseline_size);
    beta_offset.push_back(beta_size);
    if (!layer.trains_s()) continue;
    if (estimator.has_moving_state()) baseline_size += 2 * layer.n_s;
    if (estimator.beta != BetaRule::none) beta_size += layer.n_s;
  }
}

Pass::Pass(Backend& backend, const NetworkSpec& spec, const PassOptions& options,
           std::int64_t max_examples, std::int64_t M)
    : backend_(backend),
      spec_(spec),
      layout_(spec),
      options_(options),
      part_layout_(spec, options.estimator),
      layers_(spec.depth()) {
  if (!spec.samples() && M != 1)
    throw ShapeError("a network without stochastic units has one particle");
  plan();
  flows_.reserve(2);
  workspace_ = Buffer(backend, lay_out(nullptr, max_examples, M));
  lay_out(workspace_.data(), max_examples, M);
  if (options.backward && output_weight_ != w_bar_ && max_examples > 0) {
    const std::vector<float> equal(max_examples * M, 1 / float(M));
    backend.upload(std::as_bytes(std::span(equal)), reinterpret_cast<std::byte*>(output_weight_));
  }
}

// Which quantities the particles of an example share, and what each layer needs to be told by the
// one above.
void Pass::plan() {
  bool shared = true;
  std::int64_t units = 0;
  for (std::int64_t l = 0; l < spec_.depth(); ++l) {
    const LayerSpec& spec = spec_.hidden[l];
    Layer& layer = layers_[l];
    layer.first_unit = units;
    units += spec.n_s;
    layer.name = fmt::format("layer {}", l + 1);
    layer.input_shared = shared;
    shared = shared && !spec.samples();
    layer.output_shared = shared;
    max_width_ = std::max({max_width_, spec.n_s, spec.n_d});

    const EstimatorRow& estimator = options_.estimator;
    if (spec.n_d > 0) {
      layer.need = layer.output_shared ? Need::sum : Need::rows;
    } else if (estimator.kind == EstimatorKind::path && spec.trains_s()) {
      // sum_m g_a^m = e(a) * sum_m G(h^m) if the particles share a, and e with it
      const bool sum = layer.input_shared && !estimator.weight_per_particle();
      layer.need = sum ? Need::sum : Need::rows;
    }
  }
}

// Two rounds: the first counts the bytes, the second hands them out.
std::size_t Pass::lay_out(std::byte* base, std::int64_t max_examples, std::int64_t M) {
  const std::int64_t N = max_examples, rows = N * M;
  Carver carver(base);
  x_ = carver.matrix(N, spec_.D_in);
  if (!options_.given_gradient) y_ = carver.matrix(N, spec_.target_width());
  for (std::int64_t l = 0; l < spec_.depth(); ++l) {
    const LayerSpec& spec = spec_.hidden[l];
    Layer& layer = layers_[l];
    const std::int64_t in_rows = layer.input_shared ? N : rows;
    if (spec.trains_s()) layer.a_s = carver.matrix(in_rows, spec.n_s);
    layer.s = {carver.bytes(backend_.bits_bytes(rows, spec.n_s)), rows, spec.n_s};
    if (spec.n_d > 0) layer.d = carver.matrix(layer.output_shared ? N : rows, spec.n_d);
    if (spec.n_d > 0 && layer.input_shared && !layer.output_shared) {
      layer.d_shared = carver.matrix(N, spec.n_d);
    }
  }
  o_ = carver.matrix(rows, spec_.logits());
  if (!options_.given_gradient) {
    log_w_ = carver.matrix(rows, 1).data;
    w_bar_ = carver.matrix(rows, 1).data;
  }
  if (options_.proposal.on) log_ratio_ = carver.matrix(rows, 1).data;
  const auto weights = [&](bool of_w_bar) {
    return of_w_bar ? w_bar_ : carver.matrix(rows, 1).data;
  };
  if (options_.backward) {
    if (options_.estimator.omega != OmegaRule::none)
      omega_ =
          weights(options_.estimator.omega == OmegaRule::w_bar && options_.proposal.from_P == 0);
    if (options_.proposal.on) omega_R_ = carver.matrix(rows, 1).data;
    output_weight_ = weights(follows_w_bar(options_.estimator.output_weight));
    live_index_ = reinterpret_cast<std::int32_t*>(carver.bytes(sizeof(std::int32_t) * rows));
    g_o_ = carver.matrix(rows, spec_.logits());
    g_scale_ = carver.matrix(rows, layout_.rho.cols);
    for (Matrix& g : gradients_) g = carver.matrix(rows, max_width_);
    for (Matrix& sum : sums_) sum = carver.matrix(N, std::max(max_width_, spec_.logits()));
  }
  return carver.used();
}

std::size_t Pass::bytes(Backend& backend, const NetworkSpec& spec, const PassOptions& options,
                        std::int64_t max_examples, std::int64_t M) {
  return Pass(backend, spec, options, /*max_examples=*/0, M).lay_out(nullptr, max_examples, M);
}

std::int64_t Pass::row_floats(const NetworkSpec& spec) {
  std::int64_t floats = 2 * spec.logits() + scale_param_count(spec.output, spec.D_out);
  for (const LayerSpec& layer : spec.hidden) floats += 2 * (layer.n_s + layer.n_d);
  return floats;
}

std::vector<Pass::Product> Pass::forward_products() const {
  std::vector<Product> products;
  for (std::int64_t l = 0; l < spec_.depth(); ++l) {
    const LayerSpec& layer = spec_.hidden[l];
    products.push_back(
        {layers_[l].name, input(l).is_bits, input_shared(l), spec_.input_width(l), layer.width()});
    if (layer.n_s > 0 && layer.n_d > 0)
      products.push_back({layers_[l].name + ", s to d", true, false, layer.n_s, layer.n_d});
  }
  const std::int64_t top = spec_.depth();
  products.push_back(
      {"output", input(top).is_bits, input_shared(top), spec_.input_width(top), spec_.logits()});
  return products;
}

// --- forward

bool Pass::input_shared(std::int64_t l) const {
  return l < spec_.depth() ? layers_[l].input_shared : !spec_.samples();
}

// What layer l reads: x, or d or s of the layer below; l = depth(): what the output reads.
ConstOperand Pass::input(std::int64_t l) const {
  if (l == 0) return x_.top(tile_.N);
  if (spec_.hidden[l - 1].n_d == 0) return s(l - 1);
  return layers_[l - 1].d.top(input_rows(l));
}

void Pass::multiply_input(std::int64_t l, ConstMatrix W, Matrix out) {
  backend_.multiply({.z = input(l), .W = W, .out = out});
}

void Pass::forward(const Tile& tile, const float* params, const ProposalLogits& R,
                   const HiddenBits* given) {
  if (R.e.data && !options_.proposal.on)
    throw ShapeError("a pass without a proposal was given one");
  const Range range(backend_, "forward");
  tile_ = tile;
  R_ = R;
  R_.from_P = options_.proposal.from_P;
  for (std::int64_t l = 0; l < spec_.depth(); ++l) forward_layer(l, params, given);
  forward_output(params);
}

void Pass::forward_layer(std::int64_t l, const float* params, const HiddenBits* given) {
  const Range range(backend_, layers_[l].name.c_str());
  const LayerSpec& spec = spec_.hidden[l];
  const LayerSlots& slots = layout_.hidden[l];
  const bool fresh = tile_.first_particle == 0 || !layers_[l].input_shared;
  const Matrix a_s = layers_[l].a_s.top(input_rows(l));
  if (spec.trains_s() && fresh) multiply_input(l, slots.W_s.in(params), a_s);
  if (spec.samples()) {
    if (given) {
      backend_.upload_bits((*given)[l], s(l));
    } else {
      backend_.sample_hidden({.draw = draw(l),
                              .tile = tile_,
                              .a = a_s,
                              .b = slots.b_s.in(params).data,
                              .s = s(l),
                              .R = proposal(l)});
    }
  }
  if (spec.n_d > 0) forward_d(l, params, fresh);
}

// d = activation(z W_d + s U + b_d), with z W_d computed once for all particles if z is shared.
void Pass::forward_d(std::int64_t l, const float* params, bool fresh) {
  const LayerSlots& slots = layout_.hidden[l];
  Layer& layer = layers_[l];
  if (layer.output_shared && !fresh) return;
  const Matrix d = layer.d.top(layer.output_shared ? tile_.N : tile_.rows());
  const bool apart = layer.input_shared && !layer.output_shared;
  const Matrix d_shared = layer.d_shared.top(tile_.N);
  if (!apart) {
    multiply_input(l, slots.W_d.in(params), d);
  } else if (fresh) {
    multiply_input(l, slots.W_d.in(params), d_shared);
  }
  if (spec_.hidden[l].samples()) {
    backend_.multiply(
        {.z = s(l), .W = slots.U.in(params), .out = d, .write = apart ? Write::set : Write::add});
  }
  backend_.activate({.tile = tile_,
                     .shared = d_shared,
                     .b = slots.b_d.in(params).data,
                     .d = d,
                     .activation = spec_.hidden[l].activation});
}

void Pass::forward_output(const float* params) {
  const Range range(backend_, "output");
  multiply_input(spec_.depth(), layout_.V.in(params), o_.top(tile_.rows()));
}

OutputOperands Pass::output(const float* params) const {
  const double sigma = spec_.sigma / options_.y_units.scale;
  return {.output = spec_.output,
          .tile = tile_,
          .o = o_.top(tile_.rows()),
          .c = layout_.c.in(params).data,
          .y = y_.top(tile_.N),
          .scale = {.inverse_sigma = float(1 / sigma),
                    .log_sigma = float(std::log(sigma)),
                    .rho = layout_.rho.in(params).data,
                    .log_jacobian = float(options_.y_units.log_jacobian)}};
}

void Pass::log_prob(const float* params) {
  backend_.output_log_prob({.of = output(params), .log_w = log_w_});
  if (R_.e.data) add_log_ratio(params);
}

ProposalLogits Pass::proposal(std::int64_t l) const {
  ProposalLogits R = R_;
  R.first = layers_[l].first_unit;
  return R;
}

// delta over all layers; the last one hands it to log_w.
void Pass::add_log_ratio(const float* params) {
  std::int64_t units_left = R_.e.cols;
  for (std::int64_t l = 0; l < spec_.depth(); ++l) {
    if (!spec_.hidden[l].samples()) continue;
    const bool first = units_left == R_.e.cols;
    units_left -= spec_.hidden[l].n_s;
    backend_.log_ratio({.tile = tile_,
                        .a = a_s(l),
                        .b = layout_.hidden[l].b_s.in(params).data,
                        .s = s(l),
                        .R = proposal(l),
                        .write = first ? Write::set : Write::add,
                        .log_ratio = log_ratio_,
                        .log_w = units_left == 0 ? log_w_ : nullptr});
  }
}

void Pass::weigh(float* C_hat, float* ess) {
  backend_.particle_weights({.tile = tile_,
                             .log_w = log_w_,
                             .w_bar = w_bar_,
                             .C_hat = C_hat,
                             .ess = ess,
                             .omega_rule = omega_ ? options_.estimator.omega : OmegaRule::none,
                             .omega = omega_});
  if (!R_.e.data || !options_.backward) return;
  backend_.proposal_weights({.tile = tile_,
                             .rule = options_.proposal.rule,
                             .from_P = R_.from_P,
                             .c = options_.c,
                             .w_bar = w_bar_,
                             .log_ratio = log_ratio_,
                             .omega = omega_ == w_bar_ ? nullptr : omega_,
                             .omega_R = omega_R_});
}

}  // namespace sfnn
