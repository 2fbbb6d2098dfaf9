// The three products of a pass. Each struct names the role of its product: a backend may choose its
// arithmetic by it.
#pragma once

#include <cstdint>

#include "kernels/views.hpp"

namespace sfnn {

enum class Write { set, add };

enum class ProductRole {
  decides_draws,    // its result decides what is drawn, and likelihoods
  weight_gradient,  // a sum over rows
  carries_back,     // takes gradients to the layer below
};

// An operand that is either real or 0/1, which each backend stores as it likes.
struct ConstOperand {
  ConstOperand() = default;
  ConstOperand(ConstMatrix m)  // NOLINT(google-explicit-constructor): an operand is either
      : rows(m.rows), cols(m.cols), reals_(m.data) {}
  ConstOperand(Matrix m) : ConstOperand(ConstMatrix(m)) {}  // NOLINT(google-explicit-constructor)
  ConstOperand(ConstBits b)                                 // NOLINT(google-explicit-constructor)
      : rows(b.rows), cols(b.cols), is_bits(true), bits_(b.data) {}
  ConstOperand(Bits b) : ConstOperand(ConstBits(b)) {}  // NOLINT(google-explicit-constructor)

  std::int64_t rows = 0, cols = 0;
  bool is_bits = false;

  ConstMatrix reals() const { return {reals_, rows, cols}; }  // unless is_bits
  ConstBits bits() const { return {bits_, rows, cols}; }      // if is_bits

 private:
  const float* reals_ = nullptr;
  const std::byte* bits_ = nullptr;
};

// out = z W, or out += z W
struct MultiplyArgs {
  static constexpr const char* kName = "multiply";
  static constexpr ProductRole kRole = ProductRole::decides_draws;
  ConstOperand z;  // [rows, K]
  ConstMatrix W;   // [K, H]
  Matrix out;      // [rows, H]
  Write write = Write::set;
};

// out = g W^T, or out += g W^T
struct MultiplyTransposedArgs {
  static constexpr const char* kName = "multiply_transposed";
  static constexpr ProductRole kRole = ProductRole::carries_back;
  ConstMatrix g;  // [rows, H]
  ConstMatrix W;  // [K, H]
  Matrix out;     // [rows, K]
  Write write = Write::set;
};

// gW += z[rows]^T g; row i of g belongs to row rows.source(i) of z
struct AccumulateOuterArgs {
  static constexpr const char* kName = "accumulate_outer";
  static constexpr ProductRole kRole = ProductRole::weight_gradient;
  ConstOperand z;  // [height, K]
  RowSet rows;
  ConstMatrix g;  // [rows.count, H]
  Matrix gW;      // [K, H]
};

}  // namespace sfnn
