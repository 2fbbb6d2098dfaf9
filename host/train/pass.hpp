// One pass over a tile: forward, weigh, backward. Written once, in ops of the backend; it owns its workspace and
// allocates nothing after construction.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "host/backend/backend.hpp"
#include "host/model/estimator.hpp"
#include "host/model/network.hpp"

namespace sfnn {

struct PassOptions {
  std::uint64_t seed = 1;
  Estimator estimator = Estimator::G3;
  float c = 0;           // G5's constant
  float drop_below = 0;  // particles of less responsibility are left out of the backward products; 0: none
  bool backward = true;  // false: evaluation, with no workspace for gradients
};

// Where the sums of a gradient part lie: the parameters' gradient, then G1's sums [2, n_s] layer by layer.
struct PartLayout {
  PartLayout(const NetworkSpec&, Estimator);

  std::int64_t gradient_size = 0;
  std::int64_t baseline_size = 0;
  std::vector<std::int64_t> baseline_offset;  // per layer, from the baseline's start

  std::int64_t size() const { return gradient_size + baseline_size; }
};

class Pass {
 public:
  // Room for tiles of up to max_examples with M particles each.
  Pass(Backend&, const NetworkSpec&, const PassOptions&, std::int64_t max_examples, std::int64_t M);

  // Where the caller puts the tile's examples before `forward`.
  Matrix x(std::int64_t N) const { return x_.top(N); }
  Matrix y(std::int64_t N) const { return y_.top(N); }

  // o and log_w of the tile, with hidden units drawn, or with given ones: per layer [N*M, n_s], each 0 or 1
  // (empty where a layer has none). Enumeration needs it, and so does the comparison of two code paths.
  void forward(const Tile&, const float* params);
  void forward(const Tile&, const float* params, std::span<const std::vector<std::uint8_t>> bits);
  void log_prob(const float* params);

  // Eq. (6) (28): C_hat [N] and effective particles [N] to where the caller wants them; w_bar stays here.
  void weigh(float* C_hat, float* ess);

  // Adds the tile's gradient to `part`, which is laid out by PartLayout. baseline: G1's averages, else null.
  void backward(const float* params, const float* baseline, const float* C_hat, float* part);

  OutputArgs output(const float* params) const;
  const float* log_w() const { return log_w_; }
  const float* w_bar() const { return w_bar_; }
  Bits s(std::int64_t l) const { return layers_[l].s.top(tile_.rows()); }
  ConstMatrix a_s(std::int64_t l) const { return layers_[l].a_s.top(input_rows(l)); }
  RowSet live_rows() const { return live_; }

  // Floats that a particle's row of activations and gradients takes: what a tile's size is chosen by.
  static std::int64_t row_floats(const NetworkSpec&);
  std::size_t workspace_bytes() const { return workspace_.bytes(); }

 private:
  enum class Need { nothing, sum, rows };  // of the gradient that arrives at a layer's output

  struct Layer {
    bool input_shared = false;   // what it reads has N rows
    bool output_shared = false;  // its d has N rows
    Need need = Need::nothing;
    Matrix a_s, d, d_shared;     // z W_s; activations; z W_d where z is shared and d is not
    Bits s;
  };

  // A gradient that flows down through a weight matrix: g W^T.
  struct Flow {
    Matrix g;
    RowSet rows;
    ConstMatrix W;
  };

  void plan();
  void lay_out_workspace(std::int64_t max_examples, std::int64_t M);
  void forward_layers(const Tile&, const float* params, std::span<const std::vector<std::uint8_t>>* bits);
  void forward_d(std::int64_t l, const float* params);
  void multiply_input(std::int64_t l, ConstMatrix W, Matrix out, Write write);
  void backward_layer(std::int64_t l, const float* params, const float* baseline, const float* C_hat, Matrix g,
                      std::vector<Flow>& flows, float* part);
  Matrix backward_d(std::int64_t l, const float* params, Matrix g, std::vector<Flow>& flows, float* part);
  void accumulate_weights(std::int64_t l, Flow flow, Matrix gW, float* gb);
  Matrix arrive(std::int64_t l, std::span<const Flow> flows);
  Flow summed(const Flow&, Matrix into);
  Matrix gradient_buffer(std::int64_t rows, std::int64_t cols);
  Matrix sum_buffer(std::int64_t cols);

  bool reads_bits(std::int64_t l) const { return l > 0 && spec_.hidden[l - 1].n_d == 0; }
  ConstMatrix real_input(std::int64_t l) const;
  std::int64_t input_rows(std::int64_t l) const;
  bool input_shared(std::int64_t l) const;

  Backend& backend_;
  NetworkSpec spec_;
  ParamLayout layout_;
  PassOptions options_;
  PartLayout part_layout_;
  Buffer workspace_;
  std::vector<Layer> layers_;
  Tile tile_;
  Matrix x_, y_, o_;
  float *log_w_ = nullptr, *w_bar_ = nullptr;
  std::int32_t* live_index_ = nullptr;
  RowSet live_;
};

}  // namespace sfnn
