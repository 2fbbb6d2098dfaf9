// Row-major single-precision products over OpenBLAS, with the empty cases that BLAS leaves to its
// caller. Shapes are the caller's to check.
#pragma once

#include "host/backend/backend.hpp"

namespace sfnn::blas {

void multiply(ConstMatrix A, ConstMatrix B, Matrix out, Write);             // out = A B
void multiply_transposed(ConstMatrix A, ConstMatrix B, Matrix out, Write);  // out = A B^T
void accumulate_outer(ConstMatrix A, ConstMatrix B, Matrix out);            // out += A^T B

}  // namespace sfnn::blas
