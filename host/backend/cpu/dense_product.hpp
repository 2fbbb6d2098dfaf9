// Row-major single-precision products of real matrices, in vectors of the best instruction set of
// the machine.
//
// An element of the product is the sum of its terms in their order, by fused multiply-additions if
// the instruction set has them. Nothing else decides its bits: neither the shape of the rest, nor
// how a team shares the work.
//
// A is packed into strips of some rows and B into panels of some vectors of columns, so that the
// innermost loop reads both in order; its tile of the product stays in registers. On a Zen 4 most
// shapes of a step run between OpenBLAS 0.3.21 and oneDNN 2.6 in speed, weight gradients of few rows
// below both (`dense_product_bench`). No threads are started, and nothing is set for the process.
#pragma once

#include "host/backend/backend.hpp"

namespace sfnn::dense {

// Shapes are the caller's to check. An inner width of zero is the empty sum.
void multiply(ConstMatrix A, ConstMatrix B, Matrix out, Write);             // out = A B
void multiply_transposed(ConstMatrix A, ConstMatrix B, Matrix out, Write);  // out = A B^T
void accumulate_outer(ConstMatrix A, ConstMatrix B, Matrix out);            // out += A^T B

}  // namespace sfnn::dense
