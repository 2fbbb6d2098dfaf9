// What a network is: its layers, its output distribution, and where each parameter lies in one flat
// array.
//
// Layer l reads z, the output of the layer below (x for the first), and has
//   n_s stochastic units:    s ~ Bernoulli(sigma(z W_s + b_s)), or p = 1/2 if `fixed`
//   n_d deterministic units: d = f(z W_d + s U + b_d), f = sigma, tanh or max(0, .)
// Its own output is d, or s if it has no deterministic units. The output is o = z V + c, of which
// the output distribution takes one or more logits per output; parameters of its own are in rho.
// Matrices are [inputs, units], so a row of activations times a matrix gives the next row.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/activations.hpp"
#include "kernels/output.hpp"
#include "kernels/philox.hpp"
#include "kernels/views.hpp"

namespace sfnn {

struct LayerSpec {
  std::int64_t n_s = 0, n_d = 0;
  bool fixed = false;                           // stochastic units with p = 1/2: nothing to train
  Activation activation = Activation::sigmoid;  // of the deterministic units

  bool samples() const { return n_s > 0; }
  bool trains_s() const { return n_s > 0 && !fixed; }
  std::int64_t width() const { return n_d > 0 ? n_d : n_s; }
  friend bool operator==(const LayerSpec&, const LayerSpec&) = default;
};

// "200s" stochastic, "200d" deterministic, "40s+160d" hybrid (C), "40n+160d" with noise units of p
// = 1/2 (D). "200tanh" and "200relu" are deterministic units, too, also in hybrids.
LayerSpec parse_layer(std::string_view text);  // throws ConfigError
std::string to_string(const LayerSpec&);

// Where sigma of Gaussian targets comes from: the config's net.sigma.
struct Sigma {
  Output output = Output::gaussian;  // the Gaussian of the table that has it
  double value = 1;                  // if it is given, in the targets' own units
  friend bool operator==(const Sigma&, const Sigma&) = default;
};
constexpr double kLeastSigma = 1e-12, kLargestSigma = 1e12;  // squares of them are floats

struct NetworkSpec {
  std::int64_t D_in = 0;  // zero is allowed: a generative model
  std::vector<LayerSpec> hidden;
  std::int64_t D_out = 0;
  Output output = Output::bernoulli;
  double sigma = 1;  // Output::gaussian: as given, in the targets' own units

  std::int64_t depth() const { return std::int64_t(hidden.size()); }
  // Inputs of layer l; l = depth(): of the output.
  std::int64_t input_width(std::int64_t l) const { return l == 0 ? D_in : hidden[l - 1].width(); }
  std::int64_t target_width() const { return sfnn::target_width(output, D_out); }
  std::int64_t logits() const { return D_out * row_of(output).logits_per_output; }
  bool samples() const;   // does it have stochastic units?
  bool trains_s() const;  // any of them with weights?
  void validate() const;  // throws ConfigError
  friend bool operator==(const NetworkSpec&, const NetworkSpec&) = default;
};

// "392-200s-200s-392 bernoulli"
std::string to_string(const NetworkSpec&);

// Network B: the deterministic units of A read as stochastic ones. W_d, b_d become W_s, b_s; the
// flat layout stays.
// Throws ConfigError if layers are hybrid, or of units that are no probabilities.
NetworkSpec as_stochastic(const NetworkSpec&);

// Groups that decay and learning rates can distinguish.
enum class ParamGroup {
  weight,       // W_s, W_d, U
  bias,         // b_s, b_d
  output,       // V
  output_bias,  // c
  scale,        // parameters of the output distribution itself
};

struct ParamSlot {
  std::string name;  // "layer1.W_s", ..., "V", "c", "rho"
  std::int64_t offset = 0, rows = 0, cols = 0;
  std::int64_t fan_in = 0;  // inputs per unit of a weight matrix; 0 for biases, c and rho
  ParamGroup group = ParamGroup::weight;
  double initial_gain = 1;      // its first weights' standard deviation, times sqrt(fan_in)
  std::int64_t sigma_cols = 0;  // last columns of V and c: a head of sigmas, as many as outputs

  std::int64_t size() const { return rows * cols; }
  std::vector<std::int64_t> shape() const {  // in files: biases have one dimension
    return fan_in == 0 ? std::vector{cols} : std::vector{rows, cols};
  }
  Matrix in(float* params) const { return {params + offset, rows, cols}; }
  ConstMatrix in(const float* params) const { return {params + offset, rows, cols}; }
};

struct LayerSlots {
  ParamSlot W_s, b_s, W_d, U, b_d;  // absent ones have size zero
};

// Every parameter in one array, so that the update, a checkpoint and a sum over devices are one
// loop each. Slots are aligned to 64 bytes; the gaps stay zero.
struct ParamLayout {
  explicit ParamLayout(const NetworkSpec&);

  std::vector<LayerSlots> hidden;
  ParamSlot V, c;
  ParamSlot rho;          // of learnt sigmas; size zero: there are none
  std::int64_t size = 0;  // floats in the flat array, gaps included

  std::vector<ParamSlot> slots() const;  // those that exist, in order
  std::int64_t parameter_count() const;  // without gaps
};

}  // namespace sfnn
