// Products on the device in row-major terms, in the arithmetic that was asked for. Shapes are the
// caller's to check.
#pragma once

#include "cuda/device_buffer.hpp"
#include "cuda/handles.hpp"
#include "host/backend/backend.hpp"
#include "host/backend/math_mode.hpp"
#include "kernels/launch.hpp"

namespace sfnn {

class Blas {
 public:
  // scratch_moves: counts up whenever memory that a recorded launch may name has moved.
  Blas(MathMode, const Queue&, int& scratch_moves);

  MathMode math() const { return math_; }
  UnitType unit_type() const {  // how hidden units must be stored
    return math_ == MathMode::bf16x3 ? UnitType::bf16 : UnitType::f32;
  }

  void multiply(ConstMatrix A, ConstMatrix B, Matrix out, Write);  // out = A B
  void multiply(ConstBits A, ConstMatrix B, Matrix out, Write);
  void multiply_transposed(ConstMatrix A, ConstMatrix B, Matrix out, Write);  // out = A B^T
  void accumulate_outer(ConstMatrix A, ConstMatrix B, Matrix out);            // out += A^T B
  void accumulate_outer(ConstBits A, ConstMatrix B, Matrix out);

 private:
  // op(A) op(B) -> out, `inner` terms each; column-major as cuBLAS sees it.
  struct Product {
    cublasOperation_t op_A, op_B;
    std::int64_t inner;
    Matrix out;
    Write write;
  };
  bool done_if_empty(const Product&);  // true: there is no term, and out is as it must be
  void single(const Product&, ConstMatrix A, ConstMatrix B);
  void split(const Product&, ConstBits A, ConstMatrix B);

  MathMode math_;
  Queue queue_;
  DeviceMemory workspace_;  // cuBLAS's own, so that it allocates nothing inside a step
  BlasHandle handle_;
  Scratch parts_;  // the parts of a split operand
};

}  // namespace sfnn
