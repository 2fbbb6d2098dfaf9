// One pass over a tile: forward, weigh, backward. Written once, in ops of the backend; it owns its
// workspace and allocates nothing after construction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/backend/backend.hpp"
#include "host/model/model.hpp"
#include "kernels/estimators.hpp"
#include "kernels/proposal.hpp"

namespace sfnn {

// Particles drawn from a learned proposal R: see kernels/proposal.hpp.
struct ProposedParticles {
  bool on = false;
  std::int64_t from_P = 0;  // so many of each example, the first, are drawn from P
  ProposalRule rule = ProposalRule::rws;
};

struct PassOptions {
  std::uint64_t seed = 1;
  std::uint32_t first_site = 0;  // where hidden layer 0 draws; the others follow
  EstimatorRow estimator = row_of(Estimator::G3);
  float c = 0;              // beta of every unit, if it is a constant; with R, see score_weights_at
  float T = 1;              // temperature, if draws are relaxed on the way back
  float drop_below = 0;     // particles of less w_bar sit out the backward products; 0: none do
  bool same_draws = false;  // hidden units are drawn by particle and unit alone, not by row
  bool backward = true;     // false: evaluation, with no workspace for gradients
  TargetUnits y_units = {};  // of the model that the parameters belong to
  ProposedParticles proposal = {};
  bool given_gradient = false;  // G(o) comes from the caller: there are no targets and no weights
};

// Where the sums of a gradient part lie: the parameters' gradient, then the sums behind a moving
// baseline, [2, n_s] layer by layer. Beside it, where each layer's beta lies.
struct PartLayout {
  PartLayout(const NetworkSpec&, const EstimatorRow&);
  PartLayout(const NetworkSpec& spec, Estimator e) : PartLayout(spec, row_of(e)) {}

  std::int64_t gradient_size = 0;
  std::int64_t baseline_size = 0;
  std::vector<std::int64_t> baseline_offset;  // per layer, from the baseline's start
  std::int64_t beta_size = 0;                 // 0: the estimator has none
  std::vector<std::int64_t> beta_offset;      // per layer, [n_s] each

  std::int64_t size() const { return gradient_size + baseline_size; }
};

// The hidden units of every layer, [N*M, n_s] each 0 or 1; empty if a layer has none.
using HiddenBits = std::vector<std::vector<std::uint8_t>>;

class Pass {
 public:
  // Room for tiles of up to max_examples with M particles each. A network without stochastic units
  // has M = 1.
  Pass(Backend&, const NetworkSpec&, const PassOptions&, std::int64_t max_examples, std::int64_t M);

  // Where the caller puts the tile's examples before `forward`.
  Matrix x(std::int64_t N) const { return x_.top(N); }
  Matrix y(std::int64_t N) const { return y_.top(N); }

  // o of the tile, hidden units drawn from P or, if options.proposal is on, with e of R (its
  // `first` and `from_P` are filled in here). What the particles share is computed with the first
  // of them only (first_particle == 0): further chunks of the same examples must follow it.
  void forward(const Tile& tile, const float* params, const ProposalLogits& R = {}) {
    forward(tile, params, R, nullptr);
  }
  // The same with hidden units given, not drawn: for enumeration, and to compare two code paths.
  void forward(const Tile& tile, const float* params, const HiddenBits& given,
               const ProposalLogits& R = {}) {
    forward(tile, params, R, &given);
  }

  // o -> log_w = log P(y|h), with R also log P(h|x) - log of what h was drawn from.
  void log_prob(const float* params);
  // Eq. (6) (28): C_hat [N] and effective particles [N] to where the caller wants them; w_bar stays
  // here.
  void weigh(float* C_hat, float* ess);
  // Adds the tile's gradient to `part`. Part and beta are laid out by PartLayout; beta may be null
  // if the estimator has none.
  void backward(const float* params, const float* beta, const float* C_hat, float* part);
  // The same from a gradient of o that the caller has put here (options.given_gradient).
  Matrix output_gradient() const { return g_o_.top(tile_.rows()); }
  void backward_from_output(const float* params, float* part);
  // The gradient of e, [N, units of all layers], summed over the particles; after `weigh`.
  void proposal_gradient(const float* params, const Matrix& g_e) const;

  OutputOperands output(const float* params) const;
  float* log_w() const { return log_w_; }        // [N*M]
  const float* w_bar() const { return w_bar_; }  // [N*M]
  ConstMatrix a_s(std::int64_t l) const { return layers_[l].a_s.top(input_rows(l)); }
  ConstMatrix d(std::int64_t l) const {
    return layers_[l].d.top(layers_[l].output_shared ? tile_.N : tile_.rows());
  }
  Bits s(std::int64_t l) const { return layers_[l].s.top(tile_.rows()); }

  // The products that make a, d and o, from the first layer up.
  struct Product {
    std::string what;     // "layer 1", "layer 1, s to d", "output"
    bool bits = false;    // its input is 0/1
    bool shared = false;  // one row per example, not per particle
    std::int64_t inputs = 0, units = 0;
  };
  std::vector<Product> forward_products() const;

  std::size_t workspace_bytes() const { return workspace_.bytes(); }
  // The same of a pass that has not been made.
  static std::size_t bytes(Backend&, const NetworkSpec&, const PassOptions&,
                           std::int64_t max_examples, std::int64_t M);
  // Floats that one particle's row takes: what a tile's size is chosen by.
  static std::int64_t row_floats(const NetworkSpec&);

 private:
  // Which form of G(output) a layer's own gradient needs: none, the sum over particles, or a row
  // each.
  enum class Need { nothing, sum, rows };

  struct Layer {
    std::string name;             // "layer 1": what a profiler shows
    std::int64_t first_unit = 0;  // its stochastic units' place among those of all layers
    bool input_shared = false;    // z has N rows
    bool output_shared = false;   // d has N rows
    Need need = Need::nothing;
    Matrix a_s;       // z W_s
    Matrix d;         // activations
    Matrix d_shared;  // z W_d, if z is shared and d is not
    Bits s;
  };

  // A gradient on its way down: what lies below gets g W^T.
  struct Flow {
    Matrix g;
    RowSet rows;
    bool per_particle = false;
    ConstMatrix W;
  };
  using Flows = std::vector<Flow>;  // at most two, reserved once

  void plan();
  std::size_t lay_out(std::byte* base, std::int64_t max_examples, std::int64_t M);

  void forward(const Tile&, const float* params, const ProposalLogits&,
               const HiddenBits* given);  // null: drawn
  void forward_layer(std::int64_t l, const float* params, const HiddenBits* given);
  void forward_d(std::int64_t l, const float* params, bool fresh);
  void forward_output(const float* params);
  void multiply_input(std::int64_t l, ConstMatrix W, Matrix out);
  ProposalLogits proposal(std::int64_t l) const;
  void add_log_ratio(const float* params);

  void choose_rows();
  void back_propagate(const float* params, const float* beta, const float* C_hat, float* part);
  void backward_layer(std::int64_t l, const float* params, const float* beta, const float* C_hat,
                      float* part);
  Flow backward_d(std::int64_t l, const float* params, Matrix g, float* part);
  Flow backward_path(std::int64_t l, const float* params, const Matrix& g, const Flow& flow_d);
  Flow backward_score(std::int64_t l, const float* params, const float* beta, const float* C_hat,
                      float* part);
  void accumulate_weights(std::int64_t l, const Flow&, Matrix gW, float* gb);
  Matrix arrive(std::int64_t l);
  Flow summed(const Flow&, const Matrix& buffer) const;
  Matrix next_gradient(std::int64_t rows, std::int64_t cols);

  Draw draw(std::int64_t l) const {
    return {options_.seed, options_.first_site + std::uint32_t(l), options_.same_draws};
  }
  bool input_shared(std::int64_t l) const;
  std::int64_t input_rows(std::int64_t l) const { return input_shared(l) ? tile_.N : tile_.rows(); }
  ConstOperand input(std::int64_t l) const;
  RowSet all_examples() const { return {nullptr, tile_.N}; }

  Backend& backend_;
  NetworkSpec spec_;
  ParamLayout layout_;
  PassOptions options_;
  PartLayout part_layout_;
  std::vector<Layer> layers_;
  std::int64_t max_width_ = 0;  // widest s or d of a hidden layer

  Buffer workspace_;
  Matrix x_, y_, o_, g_o_;
  Matrix g_scale_;  // [rows, parameters of the output distribution]
  float *log_w_ = nullptr, *w_bar_ = nullptr;
  float* omega_ = nullptr;          // w_bar_ itself, if that is the rule; null: no rule
  float* output_weight_ = nullptr;  // w_bar_, or 1/M for every row
  float *log_ratio_ = nullptr, *omega_R_ = nullptr;  // of proposed particles
  std::int32_t* live_index_ = nullptr;
  // Take turns: what arrives at a layer, what its s units make of it, what leaves.
  Matrix gradients_[3];
  // [N, widest]: the sums of a layer's d flow and of its s flow live until the next layer has read
  // them; what arrives is summed in the second before that.
  Matrix sums_[2];

  // State of the pass that is under way.
  Tile tile_;
  ProposalLogits R_;
  RowSet output_rows_, hidden_rows_;
  Flows flows_;
  int turn_ = 0;
};

}  // namespace sfnn
